"""
Diagnosis of an installation: ``evenspread doctor``.

``collect`` reads a cluster with the rights of the user and returns an ``Installation``; ``checks``
are pure functions of that value, listed in ``table``; ``wait`` waits until a server serves.
"""
