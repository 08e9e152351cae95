"""Effect of a configuration: profiles, feature gates, and the default constraints of a pod."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from webhook.cli.inputs.policy import RequestedPolicy
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import REASONS
from webhook.config.summary import GateRow, ProfileRow, gate_table, profile_table
from webhook.manifests import format_yaml
from webhook.policy.defaulting.inject import Injection

GATE_HEADINGS = ("gate", "stage", "value", "from", "guards")
NOT_YET = "not yet"  # the stage of a gate that a later version introduces


@dataclass(frozen=True)
class ExamplePod:
    """
    A pod with its default constraints.

    Attributes:
        pod: Its name or description.
        injection: Its defaults, or the reason that it has none.
    """

    pod: str
    injection: Injection

    @property
    def reason(self) -> str:
        """Why the pod gets no defaults; empty if it gets some."""
        return REASONS.get(self.injection.skip, "")

    @property
    def constraints(self) -> list[Any]:
        """The defaults as JSON values."""
        return [msgspec.json.decode(entry.written) for entry in self.injection.entries]


def as_document(
    requested: RequestedPolicy, advice: Sequence[str], example: ExamplePod
) -> dict[str, Any]:
    """Convert the effect to a document for JSON or YAML."""
    configuration, gates = requested
    return {
        "files": list(configuration.files),
        "mode": str(configuration.mode),
        "kubernetes": str(gates.version),
        "profiles": [
            {
                "name": row.name,
                "pods": row.pods,
                "merge": row.merge,
                "completeSelectors": row.complete_selectors,
                "constraints": list(row.constraints),
            }
            for row in profile_table(requested.policy)
        ],
        "gates": [row._asdict() for row in gate_table(gates)],
        "notices": list(configuration.notices),
        "advice": list(advice),
        "example": {
            "pod": example.pod,
            "profile": example.injection.profile,
            "reason": example.reason,
            "constraints": example.constraints,
        },
    }


def show(
    requested: RequestedPolicy, advice: Sequence[str], example: ExamplePod, terminal: Terminal
) -> None:
    """Write the effect as text."""
    configuration, gates = requested
    files = ", ".join(configuration.files) or "no file, so the defaults"
    terminal.line(("configuration", Style.PLACE), f": {files}; mode {configuration.mode}")
    _show_profiles(profile_table(requested.policy), terminal)
    terminal.line()
    terminal.line((f"feature gates of Kubernetes {gates.version}", Style.PLACE))
    terminal.table(GATE_HEADINGS, map(_gate_cells, gate_table(gates)))
    for heading, sentences in (("notice", configuration.notices), ("advice", advice)):
        for sentence in sentences:
            terminal.line((heading, Style.DOUBTFUL), f": {sentence}")
    none = f"none, since {example.reason}"
    source = f"from profile {example.injection.profile}" if example.constraints else none
    terminal.line(("defaults", Style.PLACE), f" of {example.pod}: {source}")
    _show_constraints(example.constraints, terminal)


def _show_profiles(rows: Sequence[ProfileRow], terminal: Terminal) -> None:
    if not rows:
        terminal.line("no profiles: no pod gets defaults")
    for number, row in enumerate(rows, start=1):
        completes = ", completes null selectors" if row.complete_selectors else ""
        terminal.line()
        terminal.line((f"profile {number}: {row.name}", Style.PLACE))
        terminal.line(f"  for     {row.pods}")
        terminal.line(f"  merge   {row.merge}{completes}")
        _show_constraints(row.constraints, terminal)


def _gate_cells(row: GateRow) -> tuple[str, ...]:
    return row.name, row.stage or NOT_YET, "on" if row.on else "off", row.source, row.guards


def _show_constraints(constraints: Sequence[Any], terminal: Terminal) -> None:
    written = format_yaml(list(constraints)) if constraints else ""
    for line in written.splitlines():
        terminal.line("  ", (line, Style.GOOD))
