"""Rebalance (docstring follows)."""
