"""Whether rights, configuration and the rest of the cluster let the server do its work."""

from collections.abc import Iterator

from webhook.doctor.checks.registration import APPLY
from webhook.doctor.configmap import InstalledConfiguration, read_config_map
from webhook.doctor.findings import DoctorFinding, DoctorSeverity
from webhook.doctor.installation import DryRunPod, Installation
from webhook.doctor.objects import WebhookConfiguration
from webhook.errors import ConfigError, VersionError
from webhook.policy.api.gates import Gate
from webhook.policy.api.versions import NEWEST_VERSION, Version, parse_version
from webhook.policy.defaulting.provenance import recognize_constraints

OLDEST = Version(1, 28)
"""The oldest Kubernetes that the chart installs on, and that the manifests are checked for."""


def rights(all_: Installation) -> Iterator[DoctorFinding]:
    """The ServiceAccount may do all that the server does."""
    lacking = [right for right, seen in all_.rights.items() if not seen.value]
    if lacking:
        told = ", ".join(map(str, lacking))
        yield DoctorFinding(
            f"the ServiceAccount may not {told}",
            f"{APPLY}; or see what binds it: kubectl {all_.place} auth can-i --list --as="
            f"system:serviceaccount:{all_.namespace}:{all_.name}",
        )


def configuration(all_: Installation) -> Iterator[DoctorFinding]:
    """The configuration is one that the server takes."""
    if all_.configuration.value is None:
        yield DoctorFinding(f"ConfigMap {all_.namespace}/{all_.name} does not exist", APPLY)
        return
    try:
        _configured(all_)
    except ConfigError as error:
        for line in str(error).splitlines():
            yield DoctorFinding(
                f"ConfigMap {all_.namespace}/{all_.name}: {line}",
                "mend it, and have it checked before it is applied: evenspread config check "
                "--config FILE",
            )


def kubernetes(all_: Installation) -> Iterator[DoctorFinding]:
    """The API server is of a version that is known."""
    try:
        version = parse_version(all_.kubernetes)
    except VersionError:
        version = Version(0, 0)
    if version < OLDEST:
        yield DoctorFinding(
            f"Kubernetes {all_.kubernetes} is older than {OLDEST}, the oldest that the manifests "
            "are checked for",
            f"upgrade to {OLDEST} or later",
        )
    elif version > NEWEST_VERSION:
        yield DoctorFinding(
            f"Kubernetes {all_.kubernetes} is newer than {NEWEST_VERSION}, as which it is judged",
            "upgrade evenspread when there is a version that knows it",
            DoctorSeverity.NOTE,
        )


def gates(all_: Installation) -> Iterator[DoctorFinding]:
    """No field is let pass here that the API server drops."""
    theirs = all_.features.value or {}
    found = _configured_or_none(all_)
    for gate in found.gates.on if found else ():
        if theirs.get(gate, True) is False:
            yield DoctorFinding(
                f"{gate} is on here and off in the API server, which drops silently what it guards",
                f"switch it off here too: featureGates: {{{gate}: false}} in the configuration",
            )
    off = [gate for gate in Gate if found and gate not in found.gates and theirs.get(gate)]
    if off:
        yield DoctorFinding(
            f"{', '.join(off)} is off here and on in the API server: what it guards is held back",
            "leave it so if that is wanted",
            DoctorSeverity.NOTE,
        )


def other_writers(all_: Installation) -> Iterator[DoctorFinding]:
    """Nobody else changes the constraints of pods."""
    for rival in all_.rivals.value or ():
        yield DoctorFinding(
            f"{rival.kind} {rival.name} writes topologySpreadConstraints too: what a pod gets "
            "depends on who comes last",
            "leave it to one of the two: docs/migrate.md says how to take such policies over",
        )
    if any(map(_meddled, all_.tried.value or ())):
        names = ", ".join(_suspects(all_)) or "none that can be seen"
        yield DoctorFinding(
            "somebody else changes the topologySpreadConstraints of new pods; other webhooks that "
            f"are called for them: {names}",
            "leave the field to one of the two, or exempt namespaces in one of them",
        )


def _meddled(tried: DryRunPod) -> bool:
    """Whether a list holds anything but what was asked for and what we added."""
    ours = recognize_constraints(tried.annotation, tried.constraints)
    others = tuple(each for i, each in enumerate(tried.constraints) if i not in ours)
    return others != tried.own


def _suspects(all_: Installation) -> Iterator[str]:
    for each in all_.others.value or ():
        if each.metadata.name != all_.name and _takes_pods(each):
            yield each.metadata.name


def _takes_pods(configuration: WebhookConfiguration) -> bool:
    return any(
        {"pods", "*", "*/*"} & {*rule.resources} and {"CREATE", "*"} & {*rule.operations}
        for webhook in configuration.webhooks
        for rule in webhook.rules
    )


def _configured(all_: Installation) -> InstalledConfiguration:
    held = all_.configuration.value
    assert held is not None
    try:
        version = parse_version(all_.settings.get("kube-version") or all_.kubernetes)
    except VersionError:
        version = NEWEST_VERSION
    return read_config_map(held, all_.settings, version)


def _configured_or_none(all_: Installation) -> InstalledConfiguration | None:
    """The configuration; None if there is none that can be used, which another check tells."""
    if all_.configuration.value is None:
        return None
    try:
        return _configured(all_)
    except ConfigError:
        return None
