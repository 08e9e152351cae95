"""The ranks of the pods of controllers, domain by domain: ``show_ranks``."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from webhook.cli.terminal import Style, Terminal
from webhook.explain.keynames import SHORT_NAMES
from webhook.policy.scaledown.domainranks import DomainRanks


def show_ranks(title: str, rows: Sequence[DomainRanks], terminal: Terminal) -> None:
    """Write a table for each topology key by which the pods of a controller are ranked."""
    for key, domains in groupby(rows, lambda row: row.topology_key):
        terminal.line()
        terminal.line((f"{title}, ranks by {SHORT_NAMES.short(key) or 'no key'}", Style.PLACE))
        cells = [_format_row(row) for row in domains]
        terminal.table(("domain", "pods", "ranks", "duplicates", "gaps"), cells)


def _format_row(row: DomainRanks) -> Sequence[str]:
    numbers = (row.ranks, row.duplicates, row.gaps)
    return (row.domain or "not known", f"{row.pods}", *(format_ranks(ranks) for ranks in numbers))


def format_ranks(ranks: Iterable[int]) -> str:
    """Format sorted numbers, as ``1-3, 5``; a dash if there are none."""
    return ", ".join(_format_runs(ranks)) or "-"


def _format_runs(ranks: Iterable[int]) -> Iterator[str]:
    for _, run in groupby(enumerate(ranks), lambda pair: pair[1] - pair[0]):
        numbers = [rank for _, rank in run]
        yield f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
