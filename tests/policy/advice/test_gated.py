import pytest

from tests.build import Json, gates, policy, spread
from tests.policy.advice.subjects import ask, audit, deployed
from webhook.policy.api.gates import Gates
from webhook.policy.api.versions import Version

PATH = "spec.template.spec.topologySpreadConstraints"
OFF = gates(MinDomainsInPodTopologySpread=False)
OLD = gates(Version(1, 24))

# constraint, gates, field, why
CASES: dict[str, tuple[Json, Gates, str, str]] = {
    "a field": (
        spread(minDomains=2),
        OFF,
        f"{PATH}[0].minDomains",
        "feature gate MinDomainsInPodTopologySpread is off in Kubernetes 1.37",
    ),
    "a field that this version does not know": (
        spread(nodeTaintsPolicy="Honor"),
        OLD,
        f"{PATH}[0].nodeTaintsPolicy",
        "Kubernetes 1.24 does not know it, it came with 1.25",
    ),
    "the whole list": (
        spread(),
        gates(EvenPodsSpread=False),
        PATH,
        "feature gate EvenPodsSpread is off in Kubernetes 1.37",
    ),
}


@pytest.mark.parametrize(
    ("constraint", "in_force", "field", "why"), CASES.values(), ids=CASES.keys()
)
def test_a_field_that_is_held_back(constraint: Json, in_force: Gates, field: str, why: str) -> None:
    (remark,) = ask("TSC111", deployed(constraint), audit(obeyed=policy(gates=in_force)))

    assert (remark.field, remark.problem) == (field, f"it has no effect: {why}")


@pytest.mark.parametrize("constraint", [spread(), spread(nodeTaintsPolicy="Honor")])
def test_a_field_that_is_in_force(constraint: Json) -> None:
    assert ask("TSC111", deployed(constraint), audit(obeyed=policy(gates=OFF))) == []
