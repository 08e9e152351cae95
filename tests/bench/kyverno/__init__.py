"""Comparison of evenspread with Kyverno: ``python -m tests.bench.kyverno``."""
