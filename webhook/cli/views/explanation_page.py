"""
Explanations as one HTML page with a diagram of the domains.

The page is self-contained: it loads no script, font or other resource. It follows the dark mode of
the reader's system and can be printed.
"""

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from webhook.policy.escape import printable_value
from webhook.policy.explain.explanation import ConstraintExplanation, Explanation
from webhook.policy.explain.rollout import Rollout
from webhook.policy.explain.scenario import short_key
from webhook.policy.model import DO_NOT_SCHEDULE

HEIGHT = 120  # pixels of the tallest column of a diagram
WIDTH = 56  # pixels of a column and the gap after it
MOST_COLUMNS = 200  # of a diagram; more would be indistinguishable

_environment = Environment(
    loader=PackageLoader("webhook.cli.views", "pages"),
    autoescape=True,
    finalize=printable_value,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters["short"] = short_key


def render_page(answers: Sequence[tuple[Explanation, Rollout | None]]) -> str:
    """Render explanations, and the simulated rollouts that were requested, as a page."""
    template = _environment.get_template("explanation.html")
    return template.render(answers=answers, drawn=_measure_diagram, height=HEIGHT, width=WIDTH)


def _measure_diagram(part: ConstraintExplanation) -> dict[str, Any]:
    """Compute a diagram in pixels: a column for each domain, lines for minimum and limit."""
    domains = sorted(part.domains, key=lambda row: -row.pods)[:MOST_COLUMNS]
    domains.sort(key=lambda row: row.value)
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
