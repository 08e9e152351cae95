"""
Audits in the server: again and again, by one replica at a time, and not in the way of admission.

``election`` keeps the Lease that says which replica it is. ``auditor`` starts an audit when it is
due and shows what it found. The audit itself runs in a process of its own, ``worker``, of the
lowest priority and with a bound of its own for memory; it has no credentials and no network, but
asks for what it needs through a pipe (``messages``, ``process``). What it gives are metrics as text
(``gauges``), and, if that is wanted, PolicyReports (``reports``).
"""
