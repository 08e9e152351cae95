"""Logs and metrics: ``catalogue`` is the table of metrics, ``logs`` the format of log lines."""
