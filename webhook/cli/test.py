"""``evenspread test``: suites of manifests with expected answers."""

from collections.abc import Iterable, Iterator
from io import StringIO

import click
from msgspec.structs import replace

from webhook.cli import outputs
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.output import tell_problems
from webhook.cli.outputs import Output
from webhook.cli.terminal import Terminal
from webhook.cli.views.tested import show
from webhook.errors import ConfigError, MistakesError, SourceError
from webhook.spreadtest.finding import SuiteText, find
from webhook.spreadtest.loading import Suite, load_suite
from webhook.spreadtest.renderers import FORMATS, render
from webhook.spreadtest.results import Report, report
from webhook.spreadtest.running import run


def test(
    *, folder: tuple[str, ...], cases: tuple[str, ...], output: tuple[Output, ...]
) -> ExitCode:
    """Run the suites below folders, and write every output."""
    found = list(find(folder))
    problems = [each for each in found if isinstance(each, SourceError)]
    suites = _loaded(each for each in found if isinstance(each, SuiteText))
    chosen = list(_chosen(suites, cases)) if cases else suites
    if cases and not chosen:
        raise ConfigError(f"no case is called {' or '.join(map(repr, cases))}", "--cases")
    came_of = report(map(run, chosen))
    for each in output:
        _write(came_of, each)
    tell_problems(problems)
    unfinished = bool(problems or came_of.summary.errors)
    return outcome(findings=bool(came_of.summary.failed), unfinished=unfinished)


def _write(came_of: Report, output: Output) -> None:
    if output.format != outputs.TABLE:
        outputs.save(render(came_of, output.format), output)
    elif output.file:
        text = StringIO()
        show(came_of, Terminal(text))
        outputs.save(text.getvalue(), output)
    else:
        show(came_of, Terminal())


def _loaded(texts: Iterable[SuiteText]) -> list[Suite]:
    """Read all suites before any is run, so that all mistakes are told in one go."""
    suites: list[Suite] = []
    mistakes: list[ConfigError] = []
    for text in texts:
        try:
            suites.append(load_suite(text))
        except MistakesError as error:
            mistakes += error.errors
    if mistakes:
        raise MistakesError(mistakes)
    return suites


def _chosen(suites: Iterable[Suite], wanted: tuple[str, ...]) -> Iterator[Suite]:
    """The suites that have a case whose name holds one of the texts, with such cases only."""
    texts = [text.casefold() for text in wanted]
    for suite in suites:
        cases = tuple(
            case for case in suite.cases if any(text in case.name.casefold() for text in texts)
        )
        if cases:
            yield replace(suite, cases=cases)


command = Command(
    "test",
    callback=test,
    params=[
        click.Argument(["folder"], nargs=-1, required=True, type=click.Path(), metavar="DIR..."),
        click.Option(
            ["-k", "--cases"],
            multiple=True,
            metavar="TEXT",
            help="Run only cases whose name holds it, in any case. May be repeated.",
        ),
        outputs.outputs([outputs.TABLE, *FORMATS]),
    ],
    help=(
        "Run suites of manifests with expected answers: every file below DIR that is a SpreadTest, "
        "with the configuration and the cluster that it names. The exit code is 1 if anything is "
        "answered otherwise than expected."
    ),
    examples=(
        "evenspread test tests/",
        "evenspread test tests/ -k defaults -o table -o junit=report.xml",
    ),
)
