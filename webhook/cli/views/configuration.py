"""Effect of a configuration: profiles, feature gates, and the default constraints of a pod."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from webhook.cli.inputs.policy import RequestedPolicy
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import REASONS
from webhook.config import advise, gate_table, profile_table
from webhook.manifests import format_yaml
from webhook.policy.defaulting.inject import Injection
from webhook.policy.facts import Facts

GATE_HEADINGS = ("gate", "stage", "value", "from", "guards")
NOT_YET = "not yet"  # the stage of a gate that a later version introduces


class ExamplePod(NamedTuple):
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


class ConfigurationView:
    """Output of ``config check``."""

    def __init__(self, requested: RequestedPolicy, facts: Facts, example: ExamplePod) -> None:
        """
        Store the parts.

        Args:
            requested: Configuration and gates.
            facts: Facts of the cluster.
            example: A pod and its defaults.
        """
        self._configuration = requested.configuration
        self._gates = requested.gates
        self._policy = requested.policy
        self._facts = facts
        self._example = example

    @cached_property
    def _advice(self) -> list[str]:
        return advise(self._policy, self._facts)

    def as_document(self) -> dict[str, Any]:
        """Convert to a document for JSON or YAML."""
        configuration, example = self._configuration, self._example
        return {
            "files": list(configuration.files),
            "mode": str(configuration.mode),
            "kubernetes": str(self._gates.version),
            "profiles": [
                {
                    "name": row.name,
                    "pods": row.pods,
                    "merge": row.merge,
                    "completeSelectors": row.complete_selectors,
                    "constraints": list(row.constraints),
                }
                for row in profile_table(self._policy)
            ],
            "gates": [row._asdict() for row in gate_table(self._gates)],
            "notices": list(configuration.notices),
            "advice": self._advice,
            "example": {
                "pod": example.pod,
                "profile": example.injection.profile,
                "reason": example.reason,
                "constraints": example.constraints,
            },
        }

    def show(self, terminal: Terminal) -> None:
        """Write as text."""
        files = ", ".join(self._configuration.files) or "no file, so the defaults"
        terminal.line(("configuration", Style.PLACE), f": {files}; mode {self._configuration.mode}")
        self._show_profiles(terminal)
        terminal.line()
        terminal.line((f"feature gates of Kubernetes {self._gates.version}", Style.PLACE))
        terminal.table(GATE_HEADINGS, self._gate_cells())
        for heading, sentences in (
            ("notice", self._configuration.notices),
            ("advice", self._advice),
        ):
            for sentence in sentences:
                terminal.line((heading, Style.DOUBTFUL), f": {sentence}")
        self._show_example(terminal)

    def _show_profiles(self, terminal: Terminal) -> None:
        rows = profile_table(self._policy)
        if not rows:
            terminal.line("no profiles: no pod gets defaults")
        for number, row in enumerate(rows, start=1):
            completes = ", completes null selectors" if row.complete_selectors else ""
            terminal.line()
            terminal.line((f"profile {number}: {row.name}", Style.PLACE))
            terminal.line(f"  for     {row.pods}")
            terminal.line(f"  merge   {row.merge}{completes}")
            _show_constraints(row.constraints, terminal)

    def _gate_cells(self) -> Iterator[tuple[str, ...]]:
        for row in gate_table(self._gates):
            value = "on" if row.on else "off"
            yield row.name, row.stage or NOT_YET, value, row.source, row.guards

    def _show_example(self, terminal: Terminal) -> None:
        example = self._example
        profile = example.injection.profile
        none = f"none, since {example.reason}"
        source = f"from profile {profile}" if example.constraints else none
        terminal.line(("defaults", Style.PLACE), f" of {example.pod}: {source}")
        _show_constraints(example.constraints, terminal)


def _show_constraints(constraints: Sequence[Any], terminal: Terminal) -> None:
    written = format_yaml(list(constraints)) if constraints else ""
    for line in written.splitlines():
        terminal.line("  ", (line, Style.GOOD))
