"""Sections of the reference about feature gates."""

from collections.abc import Iterator

from tests.docs.sections import NEXT, code, table
from webhook.policy.api.gates import GATES, Gate, GateSpec, Stage
from webhook.policy.api.versions import OLDEST_VERSION, Version


def gates() -> str:
    """List the feature gates, and what is dropped while they are off."""
    rows = (
        (f"[{gate}](#{gate.lower()})", spec.guards, _dropped(gate, spec), code(spec.needs or ""))
        for gate, spec in GATES.items()
    )
    return table(("gate", "guards", "dropped while it is off", "needs"), rows)


def _dropped(gate: Gate, spec: GateSpec) -> str:
    if gate is Gate.EVEN_PODS_SPREAD:
        return "the whole list"
    return ", ".join(map(code, spec.fields)) or "nothing"


def gate_history() -> str:
    """Describe the stages of the feature gates by version."""
    return NEXT.join(_describe_gate(gate, spec) for gate, spec in GATES.items())


def _describe_gate(gate: Gate, spec: GateSpec) -> str:
    lines = [f"### {gate}", "", f"Guards {spec.guards}."]
    if spec.history[0].since == OLDEST_VERSION and len(spec.history) == 1:
        return "\n".join(
            [*lines, "It is evenspread's own: on by default, whatever the Kubernetes version."]
        )
    rows = list(_periods(spec))
    if spec.removed_after:
        lines.append(
            f"Kubernetes {spec.removed_after} is the last to know its name; the feature stays on."
        )
    return "\n".join(
        [*lines, "", table(("Kubernetes", "stage", "default", "can be switched"), rows)]
    )


def _periods(spec: GateSpec) -> Iterator[tuple[str, str, str, str]]:
    if spec.history[0].since > OLDEST_VERSION:
        yield f"before {spec.history[0].since}", "not there", "off", "no"
    ends = [*(period.since for period in spec.history[1:]), None]
    for period, end in zip(spec.history, ends, strict=True):
        last = Version(end.major, end.minor - 1) if end else None
        until = f" to {last}" if last and last != period.since else "" if last else " and later"
        locked = period.stage is Stage.GA
        switched = "off only with `--allow-locked-gates`" if locked else "yes"
        yield f"{period.since}{until}", period.stage, "on" if period.default else "off", switched
