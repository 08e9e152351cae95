"""Figures of a comparison: the table that people read, and the same for programs."""

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from tests.bench.kyverno.comparison import Measurement
from tests.bench.rows import percentile
from tests.bench.table import WIDTH

COLUMNS = (
    "added p50, ms", "API server CPU, ms", "webhook CPU, ms", "creations/s", "memory, MiB",
)  # fmt: skip


class Figures(NamedTuple):
    """
    The medians of all rounds of one injector.

    Attributes:
        name: Of the injector.
        p50: Milliseconds of a creation.
        added: Milliseconds that it takes longer than with nothing.
        apiserver: Milliseconds of CPU of the API server for a creation.
        webhook: Milliseconds of CPU of the webhook's process for a creation; None if there is none.
        rate: Creations a second.
        resident: Most memory of the webhook's process, in MiB; None if there is none.
    """

    name: str
    p50: float
    added: float
    apiserver: float
    webhook: float | None
    rate: float
    resident: float | None


def figures(measured: Sequence[Measurement]) -> list[Figures]:
    """
    Reduce the turns of all injectors.

    Args:
        measured: The first one is that of nothing. Others are compared with it round by round, so
            that what slows down both of a round does not count.
    """
    alone = _halves(measured[0])
    return [_figures(measurement, alone) for measurement in measured]


def show(by_services: Mapping[int, Sequence[Figures]]) -> None:
    """Print a table for each number of Services."""
    console = Console(highlight=False)
    console.width = console.width if console.is_terminal else WIDTH
    for services, rows in by_services.items():
        console.print(_table(services, rows))


def as_json(by_services: Mapping[int, Sequence[Figures]]) -> str:
    """Write all figures as one JSON object, by the number of Services."""
    document: dict[str, Any] = {
        str(services): [row._asdict() for row in rows] for services, rows in by_services.items()
    }
    return json.dumps({"services": document}, indent=2)


def _figures(measurement: Measurement, alone: list[float]) -> Figures:
    halves, turns = _halves(measurement), measurement.turns
    has_webhook = bool(measurement.resident)
    return Figures(
        measurement.name,
        p50=median(halves),
        added=median(half - base for half, base in zip(halves, alone, strict=True)),
        apiserver=median(turn.cpu for turn in turns) * 1e3,
        webhook=median(turn.webhook for turn in turns) * 1e3 if has_webhook else None,
        rate=median(turn.rate for turn in turns),
        resident=max(measurement.resident) if has_webhook else None,
    )


def _halves(measurement: Measurement) -> list[float]:
    """The p50 of each turn in milliseconds."""
    return [percentile(turn.took, 0.5) * 1e3 for turn in measurement.turns]


def _table(services: int, rows: Sequence[Figures]) -> Table:
    made = Table(box=None, pad_edge=False)
    made.add_column(f"{services:,} Services")
    for title in COLUMNS:
        made.add_column(title, justify="right")
    for row in rows:
        numbers = (row.added, row.apiserver, row.webhook)
        large = (row.rate, row.resident)
        made.add_row(
            row.name,
            *(f"{number:.1f}" if number is not None else "-" for number in numbers),
            *(f"{number:.0f}" if number is not None else "-" for number in large),
        )
    return made
