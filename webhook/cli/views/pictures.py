"""
Explanations as one page of HTML that draws the domains.

The page needs nothing but itself: no script, no font, no address. It is dark where the reader's
system is, and can be printed.
"""

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from webhook.policy.explain.explanation import ConstraintExplanation, Explanation
from webhook.policy.explain.rollout import Rollout
from webhook.policy.explain.scenario import short_key
from webhook.policy.model import DO_NOT_SCHEDULE

HEIGHT = 120  # pixels of the tallest column of a drawing
WIDTH = 56  # pixels of a column and the gap behind it
MOST_COLUMNS = 200  # of a drawing; more could not be told apart

_environment = Environment(
    loader=PackageLoader("webhook.cli.views", "pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters["short"] = short_key


def page(answers: Sequence[tuple[Explanation, Rollout | None]]) -> str:
    """Make a page of explanations, each with what would be, if that was asked."""
    template = _environment.get_template("explanation.html")
    return template.render(answers=answers, drawn=_drawn, height=HEIGHT, width=WIDTH)


def _drawn(part: ConstraintExplanation) -> dict[str, Any]:
    """Measure a drawing: a column for each domain, and lines for minimum and limit."""
    domains = sorted(part.domains, key=lambda row: -row.pods)[:MOST_COLUMNS]
    domains.sort(key=lambda row: row.value)
    limit = part.global_minimum + part.max_skew
    tallest = max([limit, *(row.pods for row in domains)])
    scale = HEIGHT / tallest
    return {
        "columns": [(row, round(row.pods * scale, 1)) for row in domains],
        "limit": round(limit * scale, 1),
        "minimum": round(part.global_minimum * scale, 1),
        "width": max(len(domains), 1) * WIDTH,
        "more": len(part.domains) - len(domains),
        "limit_pods": limit if part.when_unsatisfiable == DO_NOT_SCHEDULE else None,
    }
