"""All checks run on an installation, and unreadable objects are unknown, not problems."""

from typing import Any

import pytest

from tests.doctor.installations import build_installation, find_deviations, hooks
from webhook.doctor.findings import CheckState
from webhook.doctor.installation import Lookup, Replica
from webhook.doctor.probes import ProbeResult
from webhook.doctor.rights import list_needed_rights
from webhook.doctor.table import CHECKS, run_checks
from webhook.policy.request import Hook


def test_a_healthy_installation_has_no_finding() -> None:
    assert find_deviations(build_installation()) == {}
    assert [result.state for result in run_checks(build_installation())] == [CheckState.OK] * len(
        CHECKS
    )


LACKS = "needs a right"
UNREADABLE: dict[str, tuple[dict[str, Any], set[str]]] = {
    "the webhook configurations": (
        {"configurations": {hook: Lookup(problem=LACKS) for hook in Hook}},
        {
            "registered",
            "called-service",
            "rules",
            "fixed-members",
            "timeouts",
            "failure-policy",
            "exemptions",
            "validated-pods",
            "binding",
            "match-conditions",
            "service",
            "reached",
            "ca-bundle",
        },
    ),
    "the Deployment": (
        {"deployment": Lookup(problem=LACKS)},
        {"replicas", "disruption-budget"},
    ),
    "the Secret": ({"authority": Lookup(problem=LACKS)}, {"ca-bundle", "certificates"}),
    "the pods": ({"pods": Lookup(problem=LACKS), "replicas": ()}, {"well"}),
    "the pages of a replica": (
        {"replicas": (Replica("a", Lookup(problem=LACKS), Lookup(problem=LACKS)),)},
        {"well"},
    ),
    "the metrics of the API server": ({"features": Lookup(problem=LACKS)}, {"gates"}),
    "the rights": (
        {
            "rights": {
                right: Lookup[bool](problem=LACKS)
                for right in list_needed_rights("evenspread", "self")
            }
        },
        {"rights"},
    ),
    "the dry runs": (
        {
            "probes": {hook: ProbeResult(problem=LACKS) for hook in Hook},
            "dry_run_pods": Lookup(problem=LACKS),
        },
        {"reached", "other-writers"},
    ),
}


@pytest.mark.parametrize(("changes", "checks"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_the_user_may_not_read_is_reported(changes: dict[str, Any], checks: set[str]) -> None:
    found = find_deviations(build_installation(**changes))

    assert found.keys() == checks - (
        {"disruption-budget"} if "configurations" in changes else set()
    )
    assert {result.unreadable for result in found.values()} == {(LACKS,)}
    assert {result.state for result in found.values()} == {CheckState.UNKNOWN}


def test_findings_count_though_another_object_is_unreadable() -> None:
    configurations = {**hooks({"timeoutSeconds": 30}), Hook.VALIDATE: Lookup(problem=LACKS)}

    found = find_deviations(build_installation(configurations=configurations))["timeouts"]

    assert (len(found.findings), found.unreadable, found.state) == (1, (LACKS,), CheckState.PROBLEM)


def test_ids_are_unique() -> None:
    assert len({row.id for row in CHECKS}) == len(CHECKS)
