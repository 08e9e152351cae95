"""The part that ranks have in a simulated scale-down, as text: ``show_scale_down``."""

from collections.abc import Sequence

from webhook.cli.terminal import Style, Terminal
from webhook.explain.keynames import SHORT_NAMES, KeyNames
from webhook.explain.rollout import RemovedPod, ScaleDownReport

MOST_PODS = 10  # rows of a table; there may be two of them before the explanation


def show_scale_down(
    report: ScaleDownReport,
    terminal: Terminal,
    most: int = MOST_PODS,
    names: KeyNames = SHORT_NAMES,
) -> None:
    """
    Write the pods that are removed, in order, as they are and with ranks for all.

    Args:
        most: Rows of a table.
        names: The names of label keys.
    """
    terminal.line(f"  ranks    {report.sentence}")
    for note in report.notes:
        terminal.line(("  note     ", Style.DOUBTFUL), note)
    key = names.short(report.topology_key)
    _show_removed("removed, as the pods are", report.removed[:most], key, terminal)
    _show_rest(report.removed, most, terminal)
    if report.with_ranks is not None:
        ranked = report.with_ranks
        _show_removed("removed, with ranks for all", ranked.removed[:most], key, terminal)
        _show_rest(ranked.removed, most, terminal)
        for note in ranked.notes:
            terminal.line(("  note     ", Style.DOUBTFUL), note)


def _show_removed(title: str, pods: Sequence[RemovedPod], key: str, terminal: Terminal) -> None:
    terminal.line()
    terminal.line((title, Style.PLACE))
    rows = [(pod.name, pod.node or "-", pod.domain or "-", describe_rank(pod)) for pod in pods]
    terminal.table(("pod", "node", key, "rank"), rows)


def _show_rest(pods: Sequence[RemovedPod], most: int, terminal: Terminal) -> None:
    if len(pods) > most:
        terminal.line(f"  ... and {len(pods) - most} more")


def describe_rank(pod: RemovedPod) -> str:
    """Return the rank of a pod, and whether it does not matter since the pod is not ready."""
    rank = "-" if pod.rank is None else f"{pod.rank}"
    return f"{rank} (not ready)" if pod.goes_first else rank
