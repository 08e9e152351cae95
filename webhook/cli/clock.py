"""The clock of the commands: the functions that they call take the time as an argument."""

from datetime import UTC, datetime


def current_time() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(UTC)  # noqa: TID251  # a command starts here, as the server in its run.py
