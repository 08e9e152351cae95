"""The table that people read, and the same for programs."""

import json
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tests.bench.rounds import QUIET, Round
from tests.bench.rows import Mark, Row

STYLES = {Mark.REACHED: "green", Mark.UNSURE: "yellow", Mark.MISSED: "bold red"}

SATURATED = 0.95  # of the time with something to do; the rest is the load's own pauses
WIDTH = 130  # characters where there is no terminal: no row wraps


def table(rows: Sequence[Row]) -> Table:
    """Lay out rows."""
    made = Table(box=None, pad_edge=False)
    for title in ("what", "compared with", "measured"):
        made.add_column(title)
    for title in ("result", "middle half", "must be"):
        made.add_column(title, justify="right")
    made.add_column("")
    for row in rows:
        low, high = (_number(value) for value in row.middle)
        result = f"{_number(row.value)} {row.must.unit}"
        mark = f"[{STYLES[row.mark]}]{row.mark}[/]"
        middle = f"{low} - {high}" if len(row.values) > 1 else ""
        made.add_row(row.what, row.base, row.measured, result, middle, str(row.must), mark)
    return made


def circumstances(generator: str, rounds: Sequence[Round]) -> list[str]:
    """Say in sentences how far the figures are to be trusted."""
    seconds = sum(sample.seconds for sample in rounds)
    if not seconds:
        return []
    waited = sum(sample.waiting for sample in rounds) / seconds
    starved = sum(sample.starved for sample in rounds) / seconds
    busy = sum(sample.running for sample in rounds) / seconds + waited
    verdict = "saturated" if busy >= SATURATED else "not saturated, which adds to CPU a call"
    remarks = [f"Load: {generator}; servers were busy {busy:.0%} of the time: {verdict}."]
    load = f", and the load's {starved:.0%}" if starved else ""  # of wrk's nothing is known
    if max(waited, starved) > QUIET:
        remarks.append(
            f"Others had the servers' core {waited:.0%} of the time{load}: "
            "p99 is meaningless then; CPU a call is not, as the kernel counts it for each process."
        )
    return remarks


def show(rows: Sequence[Row], remarks: Sequence[str]) -> None:
    """Print the table."""
    console = Console(highlight=False)
    console.width = console.width if console.is_terminal else WIDTH
    console.print(table(rows))
    for remark in remarks:
        console.print(remark, soft_wrap=True)


def as_json(rows: Sequence[Row], remarks: Sequence[str]) -> str:
    """Write everything as one JSON object."""
    return json.dumps({"rows": [row.as_json() for row in rows], "remarks": list(remarks)}, indent=2)


def _number(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
