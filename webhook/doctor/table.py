"""The table of checks: what each looks at; and how an installation is put to all of them."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from webhook.doctor.checks import cluster, registration, serving, trust
from webhook.doctor.findings import Finding, Result
from webhook.doctor.installation import Installation, UnseenError

Check = Callable[[Installation], Iterator[Finding]]


class Row(NamedTuple):
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
    Row(
        "registered",
        "both webhooks are registered",
        _CONFIGURATIONS,
        registration.registered,
    ),
    Row(
        "called-service",
        "both webhooks lead to the Service",
        _CONFIGURATIONS,
        registration.called_by_service,
    ),
    Row(
        "rules",
        "both webhooks are called for all that is judged, and for nothing else",
        f"{_CONFIGURATIONS}, the ConfigMap",
        registration.rules,
    ),
    Row(
        "fixed-members",
        "dry runs, versions of kinds and reinvocation are as they have to be",
        _CONFIGURATIONS,
        registration.fixed_members,
    ),
    Row("timeouts", "nobody waits long for a webhook", _CONFIGURATIONS, registration.timeouts),
    Row(
        "failure-policy",
        "Fail stands only where replicas bear it",
        f"{_CONFIGURATIONS}, the Deployment",
        registration.failure_policy,
    ),
    Row(
        "exemptions",
        "kube-system and our own namespace are left out",
        _CONFIGURATIONS,
        registration.exemptions,
    ),
    Row(
        "validated-pods",
        "pods go to the validating webhook if a rule denies, and only then",
        "the ValidatingWebhookConfiguration, the ConfigMap, flags of the Deployment",
        registration.validated_pods,
    ),
    Row(
        "match-conditions",
        "no match condition costs time, or fails for objects without annotations",
        _CONFIGURATIONS,
        registration.match_conditions,
    ),
    Row(
        "service",
        "the Service exists, with the port that is called",
        "the Service",
        serving.service,
    ),
    Row("endpoints", "the Service has a ready endpoint", "its EndpointSlices", serving.endpoints),
    Row(
        "replicas",
        "all replicas are available",
        "the Deployment and its pods",
        serving.replicas,
    ),
    Row(
        "disruption-budget",
        "a drain takes one replica after the other",
        "the PodDisruptionBudgets and the Deployment",
        serving.disruption_budget,
    ),
    Row(
        "reached",
        "the API server calls both webhooks, and a replica answers",
        "dry runs of PodTemplates labelled `evenspread.io/probe`",
        serving.reached,
    ),
    Row(
        "versions",
        "all replicas are of one version, that of this command",
        "the answers to probes, the labels of pods, `/metrics` of each replica",
        serving.versions,
    ),
    Row(
        "well",
        "each replica is ready and knows the cluster as it is",
        "`/readyz` and `/metrics` of each replica, through the proxy of the API server",
        serving.well,
    ),
    Row(
        "ca-bundle",
        "the API server trusts the authority of what is served",
        f"{_CONFIGURATIONS}, the Secret NAME-ca, the leaf that `--address` shows",
        trust.ca_bundle,
    ),
    Row(
        "certificates",
        "no certificate has expired, or is overdue",
        "the Secret NAME-ca, or the one that is mounted; the leaf that `--address` shows",
        trust.certificates,
    ),
    Row(
        "rights",
        "the ServiceAccount has every right that is needed",
        "a SubjectAccessReview for each",
        cluster.rights,
    ),
    Row(
        "configuration",
        "the configuration can be used",
        "the ConfigMap",
        cluster.configuration,
    ),
    Row(
        "kubernetes",
        "the API server is of a version that is known",
        "`/version` of the API server",
        cluster.kubernetes,
    ),
    Row(
        "gates",
        "feature gates agree with those of the API server",
        "`/metrics` of the API server, the ConfigMap",
        cluster.gates,
    ),
    Row(
        "other-writers",
        "nobody else changes topologySpreadConstraints",
        "policies of Kyverno, Gatekeeper and Kubernetes; dry runs of plain pods",
        cluster.other_writers,
    ),
)
"""In the order in which they are shown, causes before consequences where that is possible."""


def examine(installation: Installation) -> list[Result]:
    """Put an installation to every check."""
    return [_examine(row, installation) for row in CHECKS]


def _examine(row: Row, installation: Installation) -> Result:
    findings: list[Finding] = []
    try:
        findings.extend(row.check(installation))
    except UnseenError as error:
        return Result(row.id, row.title, tuple(findings), (error.problem,))
    return Result(row.id, row.title, tuple(findings))
