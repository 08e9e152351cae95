"""The checks, by subject: pure functions from an installation to findings."""
