import pytest

from webhook.cli.inputs.notes import MOST_NOTES, limit_notes


@pytest.mark.parametrize(("more", "counted"), [(0, []), (2, ["note: 2 more files"])])
def test_many_notes_are_counted(more: int, counted: list[str]) -> None:
    notes = ["a"] * (MOST_NOTES + more)

    assert [*limit_notes(notes, "files")] == [*notes[:MOST_NOTES], *counted]
