"""
The table of all checks.

``run_checks`` runs every check on an installation. Checks are pure; the table sends no request.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from webhook.doctor.checks import binding, cluster, policies, registration, serving, trust
from webhook.doctor.findings import CheckResult, DoctorFinding
from webhook.doctor.installation import Installation, NotReadableError

Check = Callable[[Installation], Iterator[DoctorFinding]]


@dataclass(frozen=True)
class CheckRow:
    """
    One check.

    Attributes:
        id: Identifier in ``-o json``; never reused.
        title: What is true in a healthy installation.
        check: The function; it raises NotReadableError if the user may not read something.
    """

    id: str
    title: str
    check: Check


CHECKS = (
    CheckRow("registered", "both webhooks are registered", registration.check_registered),
    CheckRow("called-service", "both webhooks call the Service", registration.check_called_service),
    CheckRow("rules", "both webhooks are called for every kind they review, and for nothing else",
             registration.check_rules),
    CheckRow("fixed-members", "sideEffects, matchPolicy and reinvocationPolicy have their values",
             registration.check_fixed_fields),
    CheckRow("timeouts", "no write waits long for a webhook", registration.check_timeouts),
    CheckRow("failure-policy", "a webhook with failurePolicy Fail has two replicas",
             registration.check_failure_policy),
    CheckRow("exemptions", "kube-system and our own namespace are exempt",
             registration.check_exemptions),
    CheckRow("validated-pods",
             "the validating webhook is called for pods if a rule denies, and only then",
             registration.check_validated_pods),
    CheckRow("binding", "the webhook for Bindings is registered if a profile keeps the spread",
             binding.check_binding),
    CheckRow("match-conditions",
             "no match condition costs time, or fails for objects without annotations",
             registration.check_match_conditions),
    CheckRow("service", "the Service exists, with the port that the webhooks call",
             serving.check_service),
    CheckRow("endpoints", "the Service has a ready endpoint", serving.check_endpoints),
    CheckRow("replicas", "all replicas are available", serving.check_replicas),
    CheckRow("disruption-budget", "a drain evicts one replica at a time",
             serving.check_disruption_budget),
    CheckRow("reached", "the API server calls both webhooks, and a replica answers",
             serving.check_reached),
    CheckRow("versions", "all replicas have the version of this command", serving.check_versions),
    CheckRow("well", "each replica is ready, with current caches", serving.check_health),
    CheckRow("ca-bundle", "the API server trusts the served certificate", trust.check_ca_bundle),
    CheckRow("certificates", "no certificate has expired or is overdue for renewal",
             trust.check_certificates),
    CheckRow("rights", "the ServiceAccount has every right that it needs", cluster.check_rights),
    CheckRow("configuration", "the configuration is valid", cluster.check_configuration),
    CheckRow("policies", "the server uses all SpreadPolicies", policies.check_policies),
    CheckRow("kubernetes", "the version of the API server is supported",
             cluster.check_kubernetes_version),
    CheckRow("gates", "feature gates agree with those of the API server", cluster.check_gates),
    CheckRow("other-writers", "no other client changes topologySpreadConstraints",
             cluster.check_other_writers),
)  # fmt: skip
"""In display order: causes before consequences where possible."""


def run_checks(installation: Installation) -> list[CheckResult]:
    """Run every check on an installation."""
    return [_run_check(row, installation) for row in CHECKS]


def _run_check(row: CheckRow, installation: Installation) -> CheckResult:
    findings: list[DoctorFinding] = []
    unreadable: tuple[str, ...] = ()
    try:
        findings.extend(row.check(installation))
    except NotReadableError as error:
        unreadable = (error.problem,)
    return CheckResult(row.id, row.title, tuple(findings), unreadable)
