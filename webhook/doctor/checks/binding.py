"""Check of the webhook for Bindings and of the ranks that it gives to pods."""

from collections.abc import Iterator

from webhook.config.spreadpolicies import MergedProfiles
from webhook.doctor import drift
from webhook.doctor.binding import BIND_WEBHOOK, list_binding_faults
from webhook.doctor.checks.registration import APPLY, LONGEST_TIMEOUT_S
from webhook.doctor.findings import CheckState, DoctorFinding
from webhook.doctor.installation import Installation
from webhook.doctor.metrics import read_samples
from webhook.doctor.objects import Webhook
from webhook.policy.defaulting.profiles import Mode, keeps_spread
from webhook.policy.model import NAME_LABEL
from webhook.policy.request import Hook
from webhook.policy.scaledown.corrections import CONTESTED
from webhook.telemetry import catalogue


def check_binding(installation: Installation) -> Iterator[DoctorFinding]:
    """The webhook for Bindings is registered if a profile keeps the spread, and only then."""
    mutating = installation.configurations[Hook.MUTATE].value
    if mutating is None:
        return
    webhook = mutating.webhook(BIND_WEBHOOK)
    merged = installation.merged_profiles
    wanted = merged is not None and keeps_spread(merged.profiles)
    if webhook is None and merged is not None and _labels_pods(merged, installation):
        yield DoctorFinding(
            f"a profile has scaleDown: KeepSpread, and {BIND_WEBHOOK} is not registered: pods are "
            "labelled, and get no rank",
            f"{APPLY}, with the profile in config.profiles of the chart, with "
            "policies.keepSpread: true for a SpreadPolicy, or the component "
            "deploy/kustomize/keep-spread",
        )
    if webhook is not None:
        yield from _check_registered(webhook, installation)
    yield from _check_contested(installation)
    if webhook is not None and merged is not None and not wanted:
        yield DoctorFinding(
            f"{BIND_WEBHOOK} is called for each Binding, and no profile has scaleDown: KeepSpread",
            f"remove the webhook: {APPLY}, without it",
            CheckState.NOTE,
        )


def _labels_pods(merged: MergedProfiles, installation: Installation) -> bool:
    """Whether a profile labels pods, and does not only recommend it."""
    found = installation.valid_configuration
    applies = found is not None and found.configuration.mode is Mode.APPLY
    return applies and keeps_spread(one for one in merged.profiles if one.mode is Mode.APPLY)


def _check_registered(webhook: Webhook, installation: Installation) -> Iterator[DoctorFinding]:
    place = {"name": installation.name, "namespace": installation.namespace}
    for fault in list_binding_faults(webhook, **place):
        yield DoctorFinding(f"{webhook.name} {fault}", APPLY)
    if webhook.timeout_seconds > LONGEST_TIMEOUT_S:
        yield DoctorFinding(
            f"{webhook.name} has timeoutSeconds: {webhook.timeout_seconds}: while no replica "
            "responds, every pod waits that long for its node",
            f"set it to 2: {APPLY}",
        )
    for namespace in drift.list_lost_exemptions(webhook, installation.namespace):
        yield DoctorFinding(
            f"{webhook.name} is called for namespace {namespace}: its pods wait for a webhook that "
            "does nothing for them",
            f"exclude it in namespaceSelector, key {NAME_LABEL}, operator NotIn: {APPLY}",
        )


def _check_contested(installation: Installation) -> Iterator[DoctorFinding]:
    """Note pods whose deletion costs another client writes, as the leader's metric counts them."""
    contested = sum(
        sample.value
        for replica in installation.replicas
        for sample in read_samples(replica.metrics.or_none or "")
        if sample.name == catalogue.RANK_REPAIRS.name and sample.labels["reason"] == CONTESTED
    )
    if contested:
        yield DoctorFinding(
            f"another client writes the deletion costs of {contested:.0f} pods too, and they keep "
            "its costs",
            "switch one of the two off: scaleDownRepair, or the other client, such as Karpenter's "
            "feature gate PodDeletionCostManagement",
            CheckState.NOTE,
        )
