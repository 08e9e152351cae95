"""Notes on stderr about what no source has: some are written, the others are counted."""

from collections.abc import Iterator, Sequence

MOST_NOTES = 10  # of one kind; more would hide the answer


def limit_notes(notes: Sequence[str], what: str) -> Iterator[str]:
    """
    Yield some notes, and the number of the others.

    Args:
        what: What the notes are about, in the plural.
    """
    yield from notes[:MOST_NOTES]
    if len(notes) > MOST_NOTES:
        yield f"note: {len(notes) - MOST_NOTES} more {what}"
