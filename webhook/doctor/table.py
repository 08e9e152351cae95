"""The table of checks: what each looks at; and how an installation is put to all of them."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from webhook.doctor.checks import cluster, registration, serving, trust
from webhook.doctor.findings import CheckResult, DoctorFinding
from webhook.doctor.installation import Installation, NotReadableError

Check = Callable[[Installation], Iterator[DoctorFinding]]


class CheckRow(NamedTuple):
    """
    One check.

    Attributes:
        id: As ``-o json`` names it; never reused.
        title: What holds if all is well.
        looks_at: What it reads, which is also what the caller has to be allowed.
        check: Raises UnseenError where it may not look.
    """

    id: str
    title: str
    looks_at: str
    check: Check


_CONFIGURATIONS = "both webhook configurations"

CHECKS = (
    CheckRow(
        "registered",
        "both webhooks are registered",
        _CONFIGURATIONS,
        registration.registered,
    ),
    CheckRow(
        "called-service",
        "both webhooks lead to the Service",
        _CONFIGURATIONS,
        registration.called_by_service,
    ),
    CheckRow(
        "rules",
        "both webhooks are called for all that is judged, and for nothing else",
        f"{_CONFIGURATIONS}, the ConfigMap",
        registration.rules,
    ),
    CheckRow(
        "fixed-members",
        "dry runs, versions of kinds and reinvocation are as they have to be",
        _CONFIGURATIONS,
        registration.fixed_members,
    ),
    CheckRow("timeouts", "nobody waits long for a webhook", _CONFIGURATIONS, registration.timeouts),
    CheckRow(
        "failure-policy",
        "Fail stands only where replicas bear it",
        f"{_CONFIGURATIONS}, the Deployment",
        registration.failure_policy,
    ),
    CheckRow(
        "exemptions",
        "kube-system and our own namespace are left out",
        _CONFIGURATIONS,
        registration.exemptions,
    ),
    CheckRow(
        "validated-pods",
        "pods go to the validating webhook if a rule denies, and only then",
        "the ValidatingWebhookConfiguration, the ConfigMap, flags of the Deployment",
        registration.validated_pods,
    ),
    CheckRow(
        "match-conditions",
        "no match condition costs time, or fails for objects without annotations",
        _CONFIGURATIONS,
        registration.match_conditions,
    ),
    CheckRow(
        "service",
        "the Service exists, with the port that is called",
        "the Service",
        serving.service,
    ),
    CheckRow(
        "endpoints", "the Service has a ready endpoint", "its EndpointSlices", serving.endpoints
    ),
    CheckRow(
        "replicas",
        "all replicas are available",
        "the Deployment and its pods",
        serving.replicas,
    ),
    CheckRow(
        "disruption-budget",
        "a drain takes one replica after the other",
        "the PodDisruptionBudgets and the Deployment",
        serving.disruption_budget,
    ),
    CheckRow(
        "reached",
        "the API server calls both webhooks, and a replica answers",
        "dry runs of PodTemplates labelled `evenspread.io/probe`",
        serving.reached,
    ),
    CheckRow(
        "versions",
        "all replicas are of one version, that of this command",
        "the answers to probes, the labels of pods, `/metrics` of each replica",
        serving.versions,
    ),
    CheckRow(
        "well",
        "each replica is ready and knows the cluster as it is",
        "`/readyz` and `/metrics` of each replica, through the proxy of the API server",
        serving.well,
    ),
    CheckRow(
        "ca-bundle",
        "the API server trusts the authority of what is served",
        f"{_CONFIGURATIONS}, the Secret NAME-ca, the leaf that `--address` shows",
        trust.ca_bundle,
    ),
    CheckRow(
        "certificates",
        "no certificate has expired, or is overdue",
        "the Secret NAME-ca, or the one that is mounted; the leaf that `--address` shows",
        trust.certificates,
    ),
    CheckRow(
        "rights",
        "the ServiceAccount has every right that is needed",
        "a SubjectAccessReview for each",
        cluster.rights,
    ),
    CheckRow(
        "configuration",
        "the configuration can be used",
        "the ConfigMap",
        cluster.configuration,
    ),
    CheckRow(
        "kubernetes",
        "the API server is of a version that is known",
        "`/version` of the API server",
        cluster.kubernetes,
    ),
    CheckRow(
        "gates",
        "feature gates agree with those of the API server",
        "`/metrics` of the API server, the ConfigMap",
        cluster.gates,
    ),
    CheckRow(
        "other-writers",
        "nobody else changes topologySpreadConstraints",
        "policies of Kyverno, Gatekeeper and Kubernetes; dry runs of plain pods",
        cluster.other_writers,
    ),
)
"""In the order in which they are shown, causes before consequences where that is possible."""


def run_checks(installation: Installation) -> list[CheckResult]:
    """Put an installation to every check."""
    return [_examine(row, installation) for row in CHECKS]


def _examine(row: CheckRow, installation: Installation) -> CheckResult:
    findings: list[DoctorFinding] = []
    try:
        findings.extend(row.check(installation))
    except NotReadableError as error:
        return CheckResult(row.id, row.title, tuple(findings), (error.problem,))
    return CheckResult(row.id, row.title, tuple(findings))
