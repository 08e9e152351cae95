"""
Explanations as text in 80 columns; ``show`` is the entry point.

Long tables are shortened; ``-o wide`` and ``-o json`` have all rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.scaledown import MOST_PODS, show_scale_down
from webhook.explain.changes import SuggestedChange
from webhook.explain.constraints import ConstraintExplanation, DomainRow, NodeGroup
from webhook.explain.daemonreport import DaemonReport, MissingPod
from webhook.explain.explanation import Explanation, NodeExplanation, name_refusing_server
from webhook.explain.keynames import SHORT_NAMES, KeyNames
from webhook.explain.replicaskew import SkewChange
from webhook.explain.rollout import Rollout
from webhook.explain.sentences import domain_name
from webhook.policy.advice.findings import all_of, count_of, join_names
from webhook.policy.model import DO_NOT_SCHEDULE, HONOR

BAR = 20  # cells; fits in 80 columns beside a zone's name and its numbers
MOST_TABLE_ROWS = 20  # rows of a table; a screen has 24 lines
NARROWEST = 28  # cells that a long name keeps; with the other columns they fit in 80 cells
MOST_NAMES = 6  # in a line
_UNLIMITED = 10**9

NO_CHANGE = "none of the changes that explain tries makes it schedulable"

_EIGHTHS = " ▏▎▍▌▋▊▉"  # index: number of eighths of a cell
_FULL = "█"


@dataclass(frozen=True)
class TableLayout:
    """
    What is shortened.

    Attributes:
        rows: The most rows of a table.
        cells: The cells that names keep in a terminal which is too narrow for them.
        names: The most names in a line.
        pods: The most pods of a scale-down.
        nodes: The most nodes of a suggested change.
    """

    rows: int = MOST_TABLE_ROWS
    cells: int = NARROWEST
    names: int = MOST_NAMES
    pods: int = MOST_PODS
    nodes: int = 2


SHORT_TABLES = TableLayout()
WIDE_TABLES = TableLayout(*[_UNLIMITED] * 5)


def show(
    explanation: Explanation,
    what_if: Rollout | None,
    terminal: Terminal,
    layout: TableLayout = SHORT_TABLES,
    names: KeyNames = SHORT_NAMES,
) -> None:
    """
    Write an explanation, after the simulated rollout if there is one.

    Args:
        names: The names of label keys.
    """
    with terminal.together():
        if what_if is not None:
            _show_rollout(what_if, terminal, layout, names)
        good = Style.GOOD if explanation.placeable else Style.BAD
        terminal.line((explanation.subject, Style.PLACE), " ", (explanation.sentence, good))
        if explanation.refused:
            _show_refused(explanation, terminal)
            return
        if explanation.daemon is None:
            _show_failure(explanation, terminal)
        if explanation.daemon is not None:
            _show_daemon_set(explanation, explanation.daemon, terminal, layout)
        for part in explanation.constraints:
            terminal.line()
            named = "default" if explanation.defaulted else "constraint"
            title = f"{named} {part.index}: {names.short(part.topology_key)}"
            _show_constraint(part, title, terminal, layout)
        if explanation.daemon is None:
            if not explanation.constraints:
                terminal.line(f"  {describe_absence(explanation)}")
            terminal.line()
            _show_nodes(explanation, terminal, layout)
        _show_changes(explanation, terminal, layout)
        missing = ", ".join(explanation.not_modelled)
        terminal.line((f"not considered: {missing}", Style.HINT))


def describe_absence(explanation: Explanation) -> str:
    """Describe what the absence of constraints means."""
    if explanation.bound_to:
        return "no constraints: none is evaluated for pods with spec.nodeName"
    if explanation.scheduler:
        return f"no constraints of its own; those of {explanation.scheduler} are not known"
    return "no constraints: spreading allows every node and prefers none"


def _show_refused(explanation: Explanation, terminal: Terminal) -> None:
    for refusal in explanation.refused[1:]:
        rule = f" ({refusal.rule})" if refusal.rule else ""
        terminal.line(f"  also {refusal.field}: {refusal.message}{rule}")
    server = name_refusing_server(explanation.refused)
    terminal.line((f"nothing is placed: first correct what {server} refuses", Style.HINT))


def _show_rollout(
    rollout: Rollout, terminal: Terminal, layout: TableLayout, names: KeyNames
) -> None:
    terminal.line((rollout.sentence, Style.BAD if rollout.pending else Style.GOOD))
    terminal.line(f"  running  {rollout.running} stay where they are")
    placed = tuple(f"{node} ({pods})" for node, pods in rollout.placed.items())
    terminal.line(f"  placed   {join_names(placed, most=layout.names) or 'none'}")
    terminal.line(f"  pending  {rollout.pending}")
    for skew in rollout.skews:
        if skew.counts_others:
            terminal.line(f"  {names.short(skew.topology_key):8} {_describe_domains(skew, layout)}")
    if rollout.removed:
        terminal.line(f"  removed  {join_names(rollout.removed, most=layout.names)}")
    for note in rollout.notes:
        terminal.line(("  note     ", Style.DOUBTFUL), note)
    if rollout.scale_down is not None:
        show_scale_down(rollout.scale_down, terminal, layout.pods, names)
    terminal.line()


def _describe_domains(skew: SkewChange, layout: TableLayout) -> str:
    """Describe where the replicas are and what a constraint counts, the fullest domains first."""
    ordered = sorted(skew.domains, key=lambda one: (-one.replicas, -one.pods, one.value))
    listed = [f"{domain_name(one.value)} {one.replicas} (counted {one.pods})" for one in ordered]
    return f"its own pods: {join_names(listed, most=layout.names)}"


def _show_daemon_set(
    explanation: Explanation, report: DaemonReport, terminal: Terminal, layout: TableLayout
) -> None:
    terminal.line()
    if report.awaited:
        what = "missing pods" if report.missing else "new pods beside old ones"
        terminal.line((f"{what}, each of which is pinned to its node", Style.PLACE))
        shown = report.awaited[: layout.rows]
        rows = [(pod.node, pod.pod, pod.state, describe_missing(pod)) for pod in shown]
        narrowest = {1: layout.cells, 0: layout.cells}
        terminal.table(("node", "pod", "state", ""), rows, narrowest)
    if len(report.awaited) > layout.rows:
        terminal.line(f"  ... and {len(report.awaited) - layout.rows} more")
    for group in explanation.rejected:
        terminal.line(f"  needs no pod: {_format_group(group)}")
    if report.unneeded:
        names = join_names(report.unneeded, most=layout.names)
        terminal.line(f"  has a pod and needs none: {names}")
    blocked = [pod.node for pod in report.awaited if not pod.is_placeable]
    if blocked:
        terminal.line()
        terminal.line((f"for the pod of node {blocked[0]}", Style.PLACE))
        _show_failure(explanation, terminal)


def describe_missing(pod: MissingPod) -> str:
    """Describe whether a missing pod of a DaemonSet can be placed."""
    if pod.reason_after:
        return f"cannot be placed after the others: {pod.reason_after}"
    return f"cannot be placed: {pod.reason}" if pod.reason else "can be placed"


def _show_failure(explanation: Explanation, terminal: Terminal) -> None:
    if explanation.failed_scheduling:
        terminal.line(("FailedScheduling: ", Style.DOUBTFUL), explanation.failed_scheduling)


def _show_constraint(
    part: ConstraintExplanation, title: str, terminal: Terminal, layout: TableLayout
) -> None:
    terminal.line(
        (title, Style.PLACE),
        f", maxSkew {part.max_skew}, {part.when_unsatisfiable}, pods {part.selector or '{}'}",
    )
    for note in _describe_part(part):
        terminal.line(f"  {note}")
    headings = ("domain", "nodes", "pods", "", "skew", "")
    most = max((row.pods for row in part.domains), default=0)
    shown = list_fullest(part.domains, layout.rows)
    rows = [_domain_cells(row, most, part.max_skew) for row in shown]
    if rows:
        terminal.table(headings, rows, {0: layout.cells})
    if len(shown) < len(part.domains):
        terminal.line(f"  ... and {len(part.domains) - len(shown)} more domains")
    for group in part.left_out:
        terminal.line(f"  left out: {_format_group(group)}")


def _describe_part(part: ConstraintExplanation) -> Iterable[str]:
    if part.when_unsatisfiable == DO_NOT_SCHEDULE:
        yield f"global minimum {part.global_minimum}: {part.minimum_because}"
    if not part.selects_pod:
        yield "the pod itself is not among the pods that count"
    if part.node_affinity_policy != HONOR:
        yield f"nodeAffinityPolicy {part.node_affinity_policy}"
    if part.node_taints_policy == HONOR:
        yield f"nodeTaintsPolicy {part.node_taints_policy}"


def list_fullest(rows: Sequence[DomainRow], most: int) -> list[DomainRow]:
    """List at most ``most`` rows, those with the most pods, in order of their names."""
    kept = sorted(rows, key=lambda row: -row.pods)[:most]
    return sorted(kept, key=lambda row: row.value)


def _domain_cells(row: DomainRow, most: int, max_skew: int) -> tuple[str, ...]:
    left_out = f" (+{row.left_out})" if row.left_out else ""
    skew = verdict = ""
    if row.skew is not None and row.nodes:
        skew = f"{row.skew}"
        verdict = "fits" if row.fits else f"over {max_skew}"
    elif row.skew is not None:
        skew, verdict = "-", "no domain"
    return (
        domain_name(row.value),
        f"{row.nodes}{left_out}",
        f"{row.pods}",
        bar(row.pods, most),
        skew,
        verdict,
    )


def bar(pods: int, most: int) -> str:
    """
    Draw a number as a bar of ``BAR`` cells, padding included, in eighths of a cell.

    Args:
        pods: The number.
        most: The number that fills all cells; at least ``pods``.
    """
    eighths = pods * BAR * 8 // most if most else 0
    whole, rest = divmod(eighths, 8)
    drawn = _FULL * whole + (_EIGHTHS[rest] if rest else "")
    return drawn.ljust(BAR)


def _show_nodes(explanation: Explanation, terminal: Terminal, layout: TableLayout) -> None:
    passing = [node for node in explanation.nodes if node.passes]
    nodes = count_of(len(explanation.nodes), "node")
    terminal.line((f"{len(passing)} of {nodes} can take it", Style.PLACE))
    passing.sort(key=lambda node: -(node.score or 0))
    if passing:
        headings = ("node", "score", "raw", "")
        shown = passing[: layout.rows]
        terminal.table(headings, map(_node_cells, shown), {0: layout.cells})
    if len(passing) > layout.rows:
        terminal.line(f"  ... and {len(passing) - layout.rows} more nodes")
    for group in explanation.rejected:
        terminal.line("  ", ("cannot: ", Style.DOUBTFUL), _format_group(group))


def _node_cells(node: NodeExplanation) -> tuple[str, ...]:
    score = "-" if node.score is None else f"{node.score}"
    raw = "-" if node.raw_score is None else f"{node.raw_score}"
    return node.name, score, raw, "best" if node.best else ""


def _format_group(group: NodeGroup) -> str:
    more = ", ..." if group.nodes > len(group.named) else ""
    return f"{group.nodes} {group.reason}: {', '.join(group.named)}{more}"


def _show_changes(explanation: Explanation, terminal: Terminal, layout: TableLayout) -> None:
    if not explanation.changes:
        if lacks_change(explanation):
            terminal.line((NO_CHANGE, Style.DOUBTFUL))
        return
    terminal.line()
    terminal.line(("any one of these changes makes it schedulable, as simulated:", Style.PLACE))
    for change in explanation.changes:
        then = join_names(change.nodes, most=layout.nodes) + describe_placed(change)
        terminal.line("  - ", (change.sentence, Style.GOOD), f" (then {then})")


def lacks_change(explanation: Explanation) -> bool:
    """Whether changes were tried, and none lets the pod be placed."""
    decided = explanation.placeable or explanation.refused
    untried = decided or explanation.bound_to or explanation.closed
    return not (untried or explanation.changes)


def describe_placed(change: SuggestedChange) -> str:
    """Describe how many of several replicas a change places; empty for one."""
    if change.awaited == 1:
        return ""
    if change.placed is None:
        return "; tried for the next pod only"
    if change.placed == change.awaited:
        return f"; {all_of(change.awaited, 'missing replica')}"
    return f"; {change.placed} of {change.awaited} missing replicas"
