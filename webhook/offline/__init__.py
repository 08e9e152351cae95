"""What the server would answer, without one."""
