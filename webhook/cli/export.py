"""``evenspread export``: write the policy as objects that work without a webhook."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.facts import FactsSources, read_facts, takes_sources
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.inputs.spreadpolicies import add_spread_policies
from webhook.cli.output import (
    OutputFormat,
    OutputTarget,
    write_document,
    write_stderr,
    write_text,
)
from webhook.cli.policydrift import show_policy_drift
from webhook.config.project import Project
from webhook.errors import ConfigError, SourceError
from webhook.export.exported import Export, Manifest, Omission
from webhook.export.mutating import MUTATING_SINCE, export_mutating
from webhook.export.scheduler import SCHEDULER_SINCE, export_scheduler
from webhook.export.static import STATIC_SINCE, StaticExport, export_static
from webhook.export.validating import VALIDATING_SINCE, export_validating
from webhook.manifests import format_yaml
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts

STATIC = "static"

_COLUMNS = 100  # of comments


class _Form(NamedTuple):
    """
    A form of an export that is written to the standard output.

    Attributes:
        since: The first Kubernetes version that has ``kind``.
        in_api: Whether its objects are in the API, so that they can be compared with a cluster.
    """

    kind: str
    since: Version
    export: Callable[[Policy, Facts], Export]
    in_api: bool = True


def _export_validating(policy: Policy, _facts: Facts) -> Export:
    return export_validating(policy)


def _export_scheduler(policy: Policy, _facts: Facts) -> Export:
    return export_scheduler(policy)


_FORMS: Mapping[str, _Form] = {
    "map": _Form("MutatingAdmissionPolicy", MUTATING_SINCE, export_mutating),
    "vap": _Form("ValidatingAdmissionPolicy", VALIDATING_SINCE, _export_validating),
    "scheduler": _Form(
        "kubescheduler.config.k8s.io/v1", SCHEDULER_SINCE, _export_scheduler, in_api=False
    ),
}


@takes_sources
def export(
    *,
    form: str,
    check: bool,
    output_dir: str,
    sources: FactsSources,
    output: OutputFormat,
    project: Project | None,
    **policy_options: Any,
) -> ExitCode:
    """
    Write the objects and what they do not do, or compare them with those of a cluster.

    SpreadPolicies of facts count, and with ``--check`` those of the cluster.
    """
    requested = read_policy(project=project, **policy_options)
    _check_options(form, check=check, output_dir=output_dir)
    inputs = Inputs((), project=project)
    if check and any(profile.system for profile in requested.policy.profiles):
        sources = replace(sources, live=sources.live or ServerOptions())
    facts = read_facts(sources, (), requested.configuration.owner_selectors, inputs)
    compared = ServerOptions() if check else None
    requested = add_spread_policies(requested, inputs, sources.live or compared)
    found = False
    if form == STATIC:
        _require(requested, STATIC_SINCE, "policies in files")
        _write_files(export_static(requested.policy, facts), Path(output_dir))
    else:
        exported = _export(form, requested, facts)
        if check:
            server = sources.live or ServerOptions()
            found = show_policy_drift(form, exported.manifests, requested.gates.version, server)
        else:
            _write(exported, output)
    inputs.report()
    return outcome(findings=found, unfinished=bool(inputs.problems))


def _check_options(form: str, *, check: bool, output_dir: str) -> None:
    """Refuse options that do not fit the form."""
    if check and not (form in _FORMS and _FORMS[form].in_api):
        raise ConfigError(f"compares objects of the API: {form} writes files", "--check")
    if form == STATIC and not output_dir:
        raise ConfigError("is missing: static writes several files, name their folder", _FOLDER)
    if form != STATIC and output_dir:
        raise ConfigError(f"is for static: redirect the output of {form} to a file", _FOLDER)


_FOLDER = "--output-dir"


def _export(form: str, requested: RequestedPolicy, facts: Facts) -> Export:
    row = _FORMS[form]
    _require(requested, row.since, row.kind)
    return row.export(requested.policy, facts)


def _require(requested: RequestedPolicy, since: Version, feature: str) -> None:
    version = requested.gates.version
    if version < since:
        raise ConfigError(
            f"Kubernetes {version} has no {feature}: write {since} or newer", "--kube-version"
        )


def _write(exported: Export, output: OutputFormat) -> None:
    if output is OutputFormat.YAML:
        write_text("".join(_comment(exported.omissions)))
    else:
        for omission in exported.omissions:
            write_stderr(f"note: {omission}")
    for manifest in exported.manifests:
        write_document(manifest, output)
    if not exported.manifests:
        write_stderr("nothing to export")


def _write_files(exported: StaticExport, folder: Path) -> None:
    """
    Write the files, each with the comments, and name them.

    Raises:
        SourceError: A file cannot be written.
    """
    comment = "".join(_comment(exported.omissions))
    for file in exported.files:
        path = folder / file.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(str(path.parent), f"cannot be created: {error.strerror}") from error
        write_text(comment + _format(file.manifests), OutputTarget("", str(path)))
        write_text(f"{path}\n")
    if not exported.files:
        write_stderr("nothing to export")


def _format(manifests: Sequence[Manifest]) -> str:
    return "".join(f"---\n{format_yaml(manifest)}" for manifest in manifests)


def _comment(omissions: Sequence[Omission]) -> Iterator[str]:
    if omissions:
        yield "# Written by evenspread export. Differences from evenspread:\n"
    for omission in omissions:
        lines = textwrap.wrap(
            f"- {omission}", _COLUMNS, initial_indent="# ", subsequent_indent="#   "
        )
        yield "".join(f"{line}\n" for line in lines)
