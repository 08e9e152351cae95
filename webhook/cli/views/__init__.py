"""Views for people: findings, diffs, tables and bars on a terminal, and one HTML page."""
