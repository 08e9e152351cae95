import re
from pathlib import Path

import click
import pytest

from webhook.cli.output import (
    OutputFormat,
    OutputTarget,
    report_problems,
    report_skipped,
    targets_option,
    write_document,
    write_text,
)
from webhook.errors import ConfigError, SourceError
from webhook.manifests import SkippedSource
from webhook.manifests.yaml import load


def parse(*arguments: str) -> tuple[OutputTarget, ...]:
    command = click.Command("c", params=[targets_option(["table", "json"])])
    targets: tuple[OutputTarget, ...] = command.make_context("c", list(arguments)).params["output"]
    return targets


def test_the_default_output_is_a_table_on_stdout() -> None:
    assert parse() == (OutputTarget("table", ""),)


def test_outputs_may_be_repeated() -> None:
    assert parse("-o", "json=a", "-o", "table") == (
        OutputTarget("json", "a"),
        OutputTarget("table", ""),
    )


INVALID = {
    "an unknown format": (["-o", "pdf"], "'pdf' is not an output format: use one of table, json"),
    "no file": (["-o", "json="], "'json=' names no file: write json=FILE"),
    "two on stdout": (["-o", "json", "-o", "table"], "only one format fits stdout"),
}


@pytest.mark.parametrize(("arguments", "message"), INVALID.values(), ids=INVALID.keys())
def test_invalid_outputs_are_errors(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        parse(*arguments)


def test_text_is_written_to_stdout_or_to_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_text("a\n", OutputTarget("table", ""))
    write_text("b\n", OutputTarget("table", str(tmp_path / "out")))

    assert capsys.readouterr().out == "a\n"
    assert (tmp_path / "out").read_text() == "b\n"
    with pytest.raises(SourceError, match="cannot be written"):
        write_text("", OutputTarget("table", str(tmp_path / "none/out")))


def test_documents_are_written_as_json_or_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    write_document({"a": "ä"}, OutputFormat.JSON)
    write_document({"a": 1}, OutputFormat.YAML)

    assert capsys.readouterr().out == '{"a":"ä"}\n---\na: 1\n'


@pytest.mark.parametrize("output", [OutputFormat.JSON, OutputFormat.YAML])
def test_documents_are_escaped_without_loss(
    output: OutputFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {"é\x1b[1m": "\x9b\x7f\u202e\n\N{GRINNING FACE}"}

    write_document(document, output)

    out = capsys.readouterr().out
    assert all(line.isprintable() for line in out.splitlines())
    assert load(out, "stdout", 1) == document


def test_problems_have_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    report_problems([SourceError("a", "x"), SourceError("b", "y")])

    assert capsys.readouterr().err == "error: a: x\nerror: b: y\n"


SKIPPED = {
    0: "",
    1: "skipped f0: r\n",
    3: "skipped 3 files without manifests, or of charts' templates: f0, f1, f2 ",
    4: "skipped 4 files without manifests, or of charts' templates: f0, f1, f2, ... ",
}


@pytest.mark.parametrize(("number", "message"), SKIPPED.items())
def test_skipped_files_have_one_line(
    number: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report_skipped([SkippedSource(f"f{index}", "r") for index in range(number)])

    assert capsys.readouterr().err.startswith(message)
