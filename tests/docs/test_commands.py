"""Every command of the README and of the pages is run, and prints what stands below it."""

import re
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.docs.markdown import GUIDES, Block, blocks, fences, name
from tests.docs.transcript import Shell, commands, differs

TRANSCRIPT = "console"
LANGUAGES = {TRANSCRIPT, "yaml", "text", "diff", "json"}

PROGRAMS = (
    "evenspread|make|kubectl|helm|kind|k3d|minikube|docker|podman|curl|git|pip|pipx|uvx|cosign|gh"
    "|aws|gcloud|az|oc|argocd|flux"
)
COMMAND = re.compile(rf"^ *(?:\$|(?:sudo )?(?:{PROGRAMS})) ", re.MULTILINE)
"""A line that a user would type."""


def transcripts(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.language == TRANSCRIPT]


RUN = [page for page in GUIDES if any(not block.needs for block in transcripts(page))]


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
        f"{name(page)}:{block.line}: $ {command.text}\nprints\n{output}\nnot\n{command.expected}"
        for block in transcripts(page)
        if not block.needs
        for command in commands(block.text)
        if differs(command, output := shell.run(command))
    ]
    shell.stop()

    assert not wrong, "\n".join(wrong)
    assert '"event":"bug"' not in shell.log
    assert "Traceback" not in shell.log


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_every_block_is_read_by_these_tests(page: Path) -> None:
    assert len([*blocks(page)]) == fences(page)


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_commands_stand_in_transcripts_alone(page: Path) -> None:
    """Commands elsewhere are not tested."""
    others = [block for block in blocks(page) if block.language != TRANSCRIPT]

    assert [(block.line, block.text) for block in others if COMMAND.search(block.text)] == []


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_blocks_are_of_a_kind_that_a_test_looks_at(page: Path) -> None:
    found = {
        (block.language, block.line) for block in blocks(page) if block.language not in LANGUAGES
    }

    assert not found


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_only_commands_are_marked_as_needing_something(page: Path) -> None:
    marks = page.read_text().count("<!-- needs: ")

    assert marks == sum(bool(block.needs) for block in transcripts(page))


def test_a_transcript_is_split_at_its_commands() -> None:
    text = "$ one \\\n  more\nsays\n\nthis\n$ two\n"

    assert list(commands(text)) == [("one \\\n  more", "says\n\nthis\n"), ("two", "")]


def test_output_before_the_first_command_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="begins with a command"):
        list(commands("says\n$ one\n"))
