"""Every command of the README and of the pages is run, and prints what stands below it."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.docs.markdown import PAGES, Block, blocks, name
from tests.docs.transcript import Shell, commands, differs

TRANSCRIPT = "console"
LANGUAGES = {TRANSCRIPT, "yaml", "text", "diff", "json", "mermaid"}


def transcripts(page: Path) -> list[Block]:
    return [each for each in blocks(page) if each.language == TRANSCRIPT]


RUN = [page for page in PAGES if any(not each.needs for each in transcripts(page))]


@pytest.fixture
def shell(tmp_path: Path) -> Generator[Shell]:
    shell = Shell(tmp_path)
    try:
        yield shell
    finally:
        shell.stop()


@pytest.mark.parametrize("page", RUN, ids=name)
def test_commands_print_what_the_page_shows(page: Path, shell: Shell) -> None:
    wrong = [
        f"{name(page)}:{block.line}: $ {command.text}\nprints\n{said}\nnot\n{command.expected}"
        for block in transcripts(page)
        if not block.needs
        for command in commands(block.text)
        if differs(command, said := shell.run(command))
    ]
    shell.stop()

    assert not wrong, "\n".join(wrong)
    assert '"event":"bug"' not in shell.log
    assert "Traceback" not in shell.log


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_are_of_a_kind_that_a_test_looks_at(page: Path) -> None:
    found = {(each.language, each.line) for each in blocks(page) if each.language not in LANGUAGES}

    assert not found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_only_commands_are_marked_as_needing_something(page: Path) -> None:
    marks = page.read_text().count("<!-- needs: ")

    assert marks == sum(bool(each.needs) for each in transcripts(page))


def test_a_transcript_is_split_at_its_commands() -> None:
    text = "$ one \\\n  more\nsays\n\nthis\n$ two\n"

    assert list(commands(text)) == [("one \\\n  more", "says\n\nthis\n"), ("two", "")]


def test_output_before_the_first_command_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="begins with a command"):
        list(commands("says\n$ one\n"))
