"""``evenspread export``: write the policy as objects that work without a webhook."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.facts import FactsSources, read_facts, takes_sources
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.output import OutputFormat, write_document, write_stderr, write_text
from webhook.config.project import Project
from webhook.errors import ConfigError
from webhook.export.exported import Export, Manifest, Omission
from webhook.export.mutating import MUTATING_SINCE, export_mutating
from webhook.export.scheduler import SCHEDULER_SINCE, export_scheduler
from webhook.export.validating import VALIDATING_SINCE, export_validating
from webhook.policy.api.versions import Version
from webhook.policy.facts import Facts

_COLUMNS = 100  # of comments


@takes_sources
def export(
    *,
    form: str,
    sources: FactsSources,
    output: OutputFormat,
    project: Project | None,
    **policy_options: Any,
) -> ExitCode:
    """Write the objects, and what they do not do."""
    requested = read_policy(project=project, **policy_options)
    inputs = Inputs((), project=project)
    facts = read_facts(sources, (), requested.configuration.owner_selectors, inputs)
    exported = _FORMS[form](requested, facts)
    _write(exported.manifests, exported.omissions, output)
    inputs.report()
    return outcome(findings=False, unfinished=bool(inputs.problems))


def _export_mutating(requested: RequestedPolicy, facts: Facts) -> Export:
    _require(requested.gates.version, MUTATING_SINCE, "MutatingAdmissionPolicy")
    return export_mutating(requested.policy, facts)


def _export_validating(requested: RequestedPolicy, _facts: Facts) -> Export:
    _require(requested.gates.version, VALIDATING_SINCE, "ValidatingAdmissionPolicy")
    return export_validating(requested.policy)


def _export_scheduler(requested: RequestedPolicy, _facts: Facts) -> Export:
    _require(requested.gates.version, SCHEDULER_SINCE, "kubescheduler.config.k8s.io/v1")
    return export_scheduler(requested.policy)


def _require(version: Version, since: Version, feature: str) -> None:
    if version < since:
        raise ConfigError(
            f"Kubernetes {version} has no {feature}: write {since} or newer", "--kube-version"
        )


_FORMS: Mapping[str, Callable[[RequestedPolicy, Facts], Export]] = {
    "map": _export_mutating,
    "vap": _export_validating,
    "scheduler": _export_scheduler,
}
"""Form -> its function, in the order of ``EXPORT_FORMS``."""


def _write(
    manifests: Sequence[Manifest], omissions: Sequence[Omission], output: OutputFormat
) -> None:
    if output is OutputFormat.YAML:
        write_text("".join(_comment(omissions)))
    else:
        for omission in omissions:
            write_stderr(f"note: {omission}")
    for manifest in manifests:
        write_document(manifest, output)
    if not manifests:
        write_stderr("nothing to export")


def _comment(omissions: Sequence[Omission]) -> Iterator[str]:
    if omissions:
        yield "# Written by evenspread export. Differences from evenspread:\n"
    for omission in omissions:
        lines = textwrap.wrap(
            f"- {omission}", _COLUMNS, initial_indent="# ", subsequent_indent="#   "
        )
        yield "".join(f"{line}\n" for line in lines)
