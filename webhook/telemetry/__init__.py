"""Logs and metrics: ``logs`` is the entry point of the log, ``metrics`` that of the metrics."""
