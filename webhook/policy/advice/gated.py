"""
The rule about fields that feature gates hold back.

At admission the one who drops such a field says so: see ``amendments``.
"""

from collections.abc import Iterator

from webhook.policy.advice.findings import Remark
from webhook.policy.advice.grounds import Grounds
from webhook.policy.advice.subject import Subject
from webhook.policy.api import fieldgates
from webhook.policy.api.gates import GATES, Gate, Gates, Stage, stage_at


def fields_are_in_force(subject: Subject, grounds: Grounds) -> Iterator[Remark]:
    """TSC111: what a gate holds back is dropped from what is created, silently by Kubernetes."""
    for drop in fieldgates.drop(subject.constraints, None, grounds.gates).drops:
        at = subject.list_path if drop.entry is None else subject.field(drop.entry, drop.field)
        yield Remark(
            at,
            f"it has no effect: {_why(drop.gate, grounds.gates)}",
            f"# leave {drop.field or 'it'} out",
            f"no effect, feature gate {drop.gate} is off",
        )


def _why(gate: Gate, gates: Gates) -> str:
    if stage_at(gate, gates.version).stage is Stage.ABSENT:
        first = GATES[gate].history[0].since
        return f"Kubernetes {gates.version} does not know it, it came with {first}"
    return f"feature gate {gate} is off in Kubernetes {gates.version}"
