"""Checks of an installation: pure functions from an ``Installation`` to findings."""
