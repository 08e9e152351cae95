"""All checks run on an installation, and unreadable objects are unknown, not problems."""

from typing import Any

import pytest

from tests.doctor.patient import hooks, patient, told
from webhook.doctor.findings import CheckState
from webhook.doctor.installation import Lookup, Replica
from webhook.doctor.probes import ProbeResult
from webhook.doctor.rights import list_needed_rights
from webhook.doctor.table import CHECKS, run_checks
from webhook.policy.request import Hook


def test_a_healthy_installation_has_nothing() -> None:
    assert told(patient()) == {}
    assert [each.state for each in run_checks(patient())] == [CheckState.OK] * len(CHECKS)


LACKS = "needs a right"
UNSEEN: dict[str, tuple[dict[str, Any], set[str]]] = {
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
    "what the API server says of itself": ({"features": Lookup(problem=LACKS)}, {"gates"}),
    "the rights": (
        {
            "rights": {
                each: Lookup[bool](problem=LACKS)
                for each in list_needed_rights("evenspread", "self")
            }
        },
        {"rights"},
    ),
    "tries": (
        {
            "probes": {hook: ProbeResult(problem=LACKS) for hook in Hook},
            "dry_run_pods": Lookup(problem=LACKS),
        },
        {"reached", "other-writers"},
    ),
}


@pytest.mark.parametrize(("changes", "checks"), UNSEEN.values(), ids=UNSEEN)
def test_what_nobody_may_look_at_is_said(changes: dict[str, Any], checks: set[str]) -> None:
    found = told(patient(**changes))

    assert found.keys() == checks - (
        {"disruption-budget"} if "configurations" in changes else set()
    )
    assert {each.unreadable for each in found.values()} == {(LACKS,)}
    assert {each.state for each in found.values()} == {CheckState.UNKNOWN}


def test_what_is_found_counts_though_more_could_not_be_looked_at() -> None:
    configurations = {**hooks({"timeoutSeconds": 30}), Hook.VALIDATE: Lookup(problem=LACKS)}

    found = told(patient(configurations=configurations))["timeouts"]

    assert (len(found.findings), found.unreadable, found.state) == (1, (LACKS,), CheckState.PROBLEM)


def test_ids_are_told_once() -> None:
    assert len({row.id for row in CHECKS}) == len(CHECKS)
