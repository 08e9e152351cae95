"""
Audits: what is wrong with the workloads of a cluster, of files, or of a snapshot of either.

Everything that is looked at is first gathered into one value, a ``Snapshot``, by ``gathering``
from manifests and by ``listing`` from an API server. ``inventory`` makes of it what the policy
asks for: subjects with their pods, facts, a survey. ``scan`` asks the policy about each of them
and writes a ``Report``; the ``renderers`` make texts of it. No rule is decided here, no clock is
read and nothing is printed, so that equal input makes equal bytes.
"""
