"""A comparison of audits as one HTML page that loads nothing and needs no script."""

from collections.abc import Callable

from webhook.audit.comparison import AuditComparison, SpreadState
from webhook.audit.renderers.html import load_template

MOST_WORKLOADS = 5000  # 1 KB each, of the first; the JSON document has all


def render_page(
    comparison: AuditComparison, counts: str, describe: Callable[[SpreadState | None], str]
) -> str:
    """
    Render the page.

    Args:
        counts: The counts in one line.
        describe: Describes the state of a spread.
    """
    return load_template(__package__, "comparison.html.jinja").render(
        comparison=comparison,
        counts=counts,
        describe=describe,
        workloads=comparison.workloads[:MOST_WORKLOADS],
        left_out=max(0, len(comparison.workloads) - MOST_WORKLOADS),
    )
