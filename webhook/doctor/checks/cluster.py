"""Checks of rights, configuration, feature gates and other policies in the cluster."""

from collections.abc import Iterator

from webhook.doctor.checks.registration import APPLY
from webhook.doctor.configmap import read_config_map
from webhook.doctor.findings import CheckState, DoctorFinding
from webhook.doctor.installation import DryRunPod, Installation
from webhook.errors import ConfigError, VersionError
from webhook.policy.api.gates import Gate
from webhook.policy.api.versions import NEWEST_VERSION, Version, parse_version
from webhook.policy.defaulting.provenance import recognize_constraints

OLDEST_KUBERNETES = Version(1, 28)  # the oldest Kubernetes that the chart supports


def check_rights(installation: Installation) -> Iterator[DoctorFinding]:
    """The ServiceAccount has every right that the server needs."""
    missing = [str(right) for right, lookup in installation.rights.items() if not lookup.value]
    if missing:
        yield DoctorFinding(
            f"the ServiceAccount may not {', '.join(missing)}",
            f"{APPLY}; or check its bindings: kubectl {installation.namespace_flag} auth can-i "
            f"--list --as=system:serviceaccount:{installation.namespace}:{installation.name}",
        )


def check_configuration(installation: Installation) -> Iterator[DoctorFinding]:
    """The server can read its configuration."""
    config_map = f"ConfigMap {installation.namespace}/{installation.name}"
    found = installation.configuration.value
    if found is None:
        yield DoctorFinding(f"{config_map} does not exist", APPLY)
        return
    try:
        read_config_map(found, installation.settings, installation.kubernetes)
    except ConfigError as error:
        for line in str(error).splitlines():
            yield DoctorFinding(
                f"{config_map}: {line}",
                "fix it, and check it before you apply it: evenspread config check --config FILE",
            )


def check_kubernetes_version(installation: Installation) -> Iterator[DoctorFinding]:
    """The version of the API server is supported."""
    try:
        version = parse_version(installation.kubernetes)
    except VersionError:
        version = Version(0, 0)
    if version < OLDEST_KUBERNETES:
        yield DoctorFinding(
            f"Kubernetes {installation.kubernetes} is older than {OLDEST_KUBERNETES}, the oldest "
            "that the manifests support",
            f"upgrade to {OLDEST_KUBERNETES} or later",
        )
    elif version > NEWEST_VERSION:
        yield DoctorFinding(
            f"Kubernetes {installation.kubernetes} is newer than the supported versions: the rules "
            f"of {NEWEST_VERSION} apply",
            "upgrade evenspread when a version supports it",
            CheckState.NOTE,
        )


def check_gates(installation: Installation) -> Iterator[DoctorFinding]:
    """Feature gates of the server and of the API server agree."""
    theirs = installation.features.value or {}
    found = installation.valid_configuration
    for gate in found.gates.on if found else ():
        if theirs.get(gate, True) is False:
            yield DoctorFinding(
                f"{gate} is on here and off in the API server, which silently drops its fields",
                f"switch it off here too: featureGates: {{{gate}: false}} in the configuration",
            )
    off = [gate for gate in Gate if found and gate not in found.gates and theirs.get(gate)]
    if off:
        yield DoctorFinding(
            f"{', '.join(off)} is off here and on in the API server: its fields are removed here",
            "nothing, if this is intended",
            CheckState.NOTE,
        )


def check_other_writers(installation: Installation) -> Iterator[DoctorFinding]:
    """No other policy or webhook changes the constraints of pods."""
    for policy in installation.conflicts.value or ():
        yield DoctorFinding(
            f"{policy} writes topologySpreadConstraints too: the last writer decides on each pod",
            "keep one of the two: docs/migrate.md shows how to replace such policies",
        )
    if any(map(_is_changed_by_others, installation.dry_run_pods.value or ())):
        names = ", ".join(_find_pod_webhooks(installation)) or "none is readable"
        yield DoctorFinding(
            "another client changes the topologySpreadConstraints of new pods; other webhooks that "
            f"are called for them: {names}",
            "keep one of the two writers, or exempt namespaces in one of them",
        )


def _is_changed_by_others(pod: DryRunPod) -> bool:
    """Whether constraints differ from those sent, apart from those that we added."""
    ours = recognize_constraints(pod.annotation, pod.constraints)
    others = tuple(item for index, item in enumerate(pod.constraints) if index not in ours)
    return others != pod.own


def _find_pod_webhooks(installation: Installation) -> Iterator[str]:
    for configuration in installation.mutating.value or ():
        name = configuration.metadata.name
        if name != installation.name and any(
            rule.includes("pods", "CREATE")
            for webhook in configuration.webhooks
            for rule in webhook.rules
        ):
            yield name
