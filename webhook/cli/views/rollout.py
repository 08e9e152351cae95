"""
A simulated rolling update as text in 80 columns: ``show_forecast``.

Long rollouts are shortened to their first and last steps, and many domains to the fullest ones;
``-o json`` has all of them.
"""

from collections.abc import Iterator, Sequence

from webhook.cli.terminal import Style, Terminal
from webhook.explain.keynames import KeyNames
from webhook.explain.rollingupdate.report import (
    RolloutDomain,
    RolloutForecast,
    RolloutStep,
)
from webhook.explain.sentences import domain_name

MOST_ROLLOUT_STEPS = 12  # of a table, half of them the last ones
MOST_ROLLOUT_DOMAINS = 4  # columns; five digits each fit in 80 columns beside the others


def show_forecast(forecast: RolloutForecast, terminal: Terminal, keys: KeyNames) -> None:
    """Write a forecast; ``keys`` are the names of label keys."""
    with terminal.together():
        terminal.line((forecast.sentence, Style.BAD if forecast.can_stop else Style.GOOD))
        terminal.line()
        shown = choose_domains(forecast)
        names = tuple(domain_name(value) for value in shown)
        terminal.table(("step", "", "old", "new", "pending", *names), _list_rows(forecast, shown))
        if names:
            key, every = keys.short(forecast.topology_key), len(forecast.start.domains)
            some = f"{len(names)} of {every} domains; -o json has all"
            terminal.line(
                f"  {key}: old + new pods of {some if len(names) < every else 'each domain'}"
            )
        for note in forecast.notes:
            terminal.line(("  note     ", Style.DOUBTFUL), note)
        terminal.line()


def choose_domains(forecast: RolloutForecast, most: int = MOST_ROLLOUT_DOMAINS) -> list[str]:
    """Choose the domains to show: those with the most pods at any time, in order of their names."""
    fullest: dict[str, int] = {}
    for step in (forecast.start, *forecast.steps):
        for domain in step.domains:
            fullest[domain.value] = max(fullest.get(domain.value, 0), domain.old + domain.new)
    return sorted(sorted(fullest, key=lambda value: -fullest[value])[:most])


def _list_rows(forecast: RolloutForecast, shown: Sequence[str]) -> Iterator[tuple[str, ...]]:
    yield _format_step("", forecast.start, shown)
    for number, step in shorten_steps(forecast.steps):
        if step is None:
            yield ("...", *[""] * (4 + len(shown)))
        else:
            yield _format_step(f"{number}", step, shown)


def shorten_steps(steps: Sequence[RolloutStep]) -> Iterator[tuple[int, RolloutStep | None]]:
    """Yield the steps with their numbers, and None in place of those between, if they are many."""
    half = MOST_ROLLOUT_STEPS // 2
    for number, step in enumerate(steps, start=1):
        if len(steps) <= MOST_ROLLOUT_STEPS or number <= half or number > len(steps) - half:
            yield number, step
        elif number == half + 1:
            yield number, None


def _format_step(number: str, step: RolloutStep, shown: Sequence[str]) -> tuple[str, ...]:
    domains = {domain.value: domain for domain in step.domains}
    cells = [_format_domain(domains[value]) for value in shown]
    return (number, step.action, f"{step.old}", f"{step.new}", f"{step.pending}", *cells)


def _format_domain(domain: RolloutDomain) -> str:
    return f"{domain.old} + {domain.new}"
