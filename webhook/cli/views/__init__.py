"""What people read on a terminal: findings, diffs, tables, bars; and one page of HTML."""
