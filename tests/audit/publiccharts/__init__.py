"""
Audit and verdicts on manifests that others wrote: ``python -m tests.audit.publiccharts``.

Well-known projects publish their Helm charts, examples and tests inside their Go modules. These
are fetched into Go's own cache, pinned and checked against the checksum database; nothing of them
is kept here. It needs the network, Go and the Helm of ``make tools``, takes minutes, and is no part
of the suite: whether a finding is a false alarm is for a person to judge. What was judged is in
CONTRIBUTING.md.
"""
