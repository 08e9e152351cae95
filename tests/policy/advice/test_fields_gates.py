"""Fields that feature gates hold back: TSC111."""

import pytest

from tests.build import Json, gates, policy, spread
from tests.policy.advice.subjects import (
    audit,
    check_rule,
    deployed,
)
from webhook.policy.api.gates import Gates
from webhook.policy.api.versions import Version

LIST = "spec.template.spec.topologySpreadConstraints"
OFF = gates(MinDomainsInPodTopologySpread=False)
OLD_GATES = gates(Version(1, 24))

# constraint, gates, field, why
HELD_BACK: dict[str, tuple[Json, Gates, str, str]] = {
    "a field": (
        spread(minDomains=2),
        OFF,
        f"{LIST}[0].minDomains",
        "feature gate MinDomainsInPodTopologySpread is off",
    ),
    "a field that this version does not know": (
        spread(nodeTaintsPolicy="Honor"),
        OLD_GATES,
        f"{LIST}[0].nodeTaintsPolicy",
        (
            "Kubernetes 1.24 does not know it: it came with 1.25, "
            "feature gate NodeInclusionPolicyInPodTopologySpread"
        ),
    ),
    "the whole list": (
        spread(),
        gates(EvenPodsSpread=False),
        LIST,
        "feature gate EvenPodsSpread is off",
    ),
}


@pytest.mark.parametrize(
    ("constraint", "in_force", "field", "why"), HELD_BACK.values(), ids=HELD_BACK.keys()
)
def test_a_field_that_is_held_back(constraint: Json, in_force: Gates, field: str, why: str) -> None:
    (violation,) = check_rule("TSC111", deployed(constraint), audit(config=policy(gates=in_force)))

    assert (violation.field, violation.problem) == (field, f"it has no effect, since {why}")


@pytest.mark.parametrize("constraint", [spread(), spread(nodeTaintsPolicy="Honor")])
def test_a_field_that_is_in_force(constraint: Json) -> None:
    assert check_rule("TSC111", deployed(constraint), audit(config=policy(gates=OFF))) == []
