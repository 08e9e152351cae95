"""Comparison of ``evenspread rebalance`` with descheduler: ``python -m tests.descheduler``."""
