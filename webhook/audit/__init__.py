"""
Audits: findings and spreads of the workloads of a cluster, of files, or of a snapshot of either.

``collect`` (manifests) and ``listing`` (API server) fill a ``Snapshot``. ``inventory`` turns it
into subjects with their pods and facts, ``scan`` applies every rule and builds an ``AuditReport``,
and ``renderers`` write it as text. ``sweep`` does the same for one namespace at a time.

Audits decide no rule, read no clock and print nothing, so that equal input gives equal bytes.
"""
