from msgspec.structs import replace

from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import Situation, web_pods, workload_pod
from webhook.policy.model import SCHEDULE_ANYWAY
from webhook.policy.placement.filters.filterpods import CLAIM, EPHEMERAL, PodVolume
from webhook.policy.placement.filters.storage import Claim, Storage
from webhook.rebalance.pods import EvictionObstacle, renew_claims


def test_only_pods_that_the_scheduler_spreads_have_goals() -> None:
    assert workload_pod("web", "a1").is_spread
    assert not workload_pod("web", "a1", obstacle=EvictionObstacle.DAEMON_SET).is_spread


def test_preferences_rank_nodes_otherwise_beside_soft_constraints_only() -> None:
    soft = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)

    assert workload_pod("web", "a1", [soft], has_preferences=True).may_be_ranked_otherwise
    assert not workload_pod("web", "a1", [soft]).may_be_ranked_otherwise
    assert not workload_pod(
        "web", "a1", [spread_over()], has_preferences=True
    ).may_be_ranked_otherwise


def test_claims_of_ephemeral_volumes_are_new_for_a_replacement() -> None:
    volumes = (PodVolume(EPHEMERAL, "web-scratch", "shop"), PodVolume(CLAIM, "data", "shop"))
    claims = {
        ("shop", name): Claim(namespace="shop", name=name, volume="pv", is_bound=True)
        for name in ("web-scratch", "data")
    }
    situation = Situation([workload_pod("web", "a1", volumes=volumes)], storage=Storage(claims))

    renewed = renew_claims(situation.cluster, situation.pods).storage.claims

    assert {name: (claim.volume, claim.is_bound) for (_, name), claim in renewed.items()} == {
        "web-scratch": ("", False),
        "data": ("pv", True),
    }


def test_a_controller_with_more_pods_than_replicas_has_a_surplus() -> None:
    (one,) = web_pods({"a1": 1})

    found = [replace(one, missing=number).is_surplus for number in (-1, 0, 1)]

    assert found == [True, False, False]
