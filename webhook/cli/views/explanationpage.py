"""
Explanations as one HTML page with diagrams of the domains; ``render_page`` is the entry point.

The page is self-contained: it loads no script, font or other resource. It follows the dark mode of
the reader's system and can be printed.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from webhook.audit.renderers.html import load_template
from webhook.cli.views.explanation import (
    NO_CHANGE,
    describe_missing,
    describe_placed,
    lacks_change,
    list_fullest,
)
from webhook.cli.views.rollout import choose_domains
from webhook.cli.views.scaledown import describe_rank
from webhook.explain.constraints import ConstraintExplanation, DomainRow
from webhook.explain.explanation import Explanation, name_refusing_server
from webhook.explain.keynames import SHORT_NAMES, KeyNames
from webhook.explain.rollingupdate.report import RolloutForecast
from webhook.explain.rollout import Rollout
from webhook.explain.sentences import domain_name
from webhook.policy.advice.findings import join_names
from webhook.policy.model import DO_NOT_SCHEDULE

HEIGHT = 120  # pixels of the tallest column of a diagram
WIDTH = 56  # pixels of a column and the gap after it
MOST_TABLE_COLUMNS = 20  # domains of a table of steps
MOST_COLUMNS = 200  # of a diagram; more would be indistinguishable


def render_page(
    answers: Sequence[tuple[Explanation, Rollout | RolloutForecast | None]],
    names: Sequence[str] = (),
    keys: KeyNames = SHORT_NAMES,
) -> str:
    """
    Render explanations as a page, each with what was simulated, if that was requested.

    Args:
        names: Names of the objects, for the title.
        keys: The names of label keys.
    """
    simulated = any(rollout is not None for _, rollout in answers)
    return load_template(__package__, "pages/explanation.html").render(
        title=f"{'What if: ' if simulated else ''}{join_names(names) or 'nothing'}",
        answers=answers,
        drawn=_measure_diagram,
        tone=choose_tone,
        height=HEIGHT,
        width=WIDTH,
        short=keys.short,
        server=name_refusing_server,
        fate=describe_missing,
        domain=domain_name,
        rank_of=describe_rank,
        placed=describe_placed,
        shown_domains=partial(choose_domains, most=MOST_TABLE_COLUMNS),
        lacks_change=lacks_change,
        no_change=NO_CHANGE,
    )


def choose_tone(part: ConstraintExplanation, row: DomainRow) -> str:
    """Return the CSS class of a column: ``over`` maxSkew, ``full`` for the next pod, or ``bar``."""
    if part.when_unsatisfiable != DO_NOT_SCHEDULE:
        return "bar"
    if row.pods > part.global_minimum + part.max_skew:
        return "over"
    return "bar" if row.fits else "full"


def _measure_diagram(part: ConstraintExplanation) -> dict[str, Any]:
    """Compute a diagram in pixels: a column for each domain, lines for minimum and limit."""
    domains = list_fullest(part.domains, MOST_COLUMNS)
    limit = part.global_minimum + part.max_skew
    tallest = max([1, limit, *(row.pods for row in domains)])
    scale = HEIGHT / tallest
    return {
        "columns": [(row, round(row.pods * scale, 1)) for row in domains],
        "limit": round(limit * scale, 1),
        "minimum": round(part.global_minimum * scale, 1),
        "width": max(len(domains), 1) * WIDTH,
        "more": len(part.domains) - len(domains),
        "limit_pods": limit if part.when_unsatisfiable == DO_NOT_SCHEDULE else None,
    }
