"""
Periodic audits, made by one replica at a time, without delaying admission.

``schedule`` starts audits and reports their results; ``election`` holds the Lease that chooses the
replica. The audit itself runs in a process of its own (``worker``), with the lowest priority and a
memory limit of its own. It has no credentials and no network: it requests what it needs through a
pipe (``messages``, ``subprocess``). Its results are metrics as text (``metrics``), counts for the
status of SpreadPolicies (``policycounts``), and PolicyReports if they are required
(``policyreports``).
"""
