import pytest

from tests.rebalance.situations import budget
from webhook.rebalance.budgets import IntOrPercent, count_desired, is_valid_int_or_percent

DESIRED: dict[str, tuple[IntOrPercent, IntOrPercent, int, int, int | None]] = {
    "minAvailable": (2, None, 5, 5, 2),
    "minAvailable without pods": (2, None, 0, 5, None),
    "minAvailable is rounded up": ("50%", None, 5, 5, 3),
    "minAvailable of no replicas": ("50%", None, 5, 0, None),
    "maxUnavailable": (None, 1, 5, 5, 4),
    "maxUnavailable of the desired replicas": (None, 1, 3, 5, 4),
    "maxUnavailable is rounded up": (None, "30%", 5, 5, 3),
    "more than all": (None, 9, 5, 5, 0),
    "maxUnavailable of no replicas": (None, 1, 5, 0, None),
    "neither": (None, None, 5, 5, None),
}


@pytest.mark.parametrize(
    ("minimum", "maximum", "pods", "replicas", "desired"), DESIRED.values(), ids=DESIRED
)
def test_the_pods_that_must_stay_healthy(
    minimum: IntOrPercent, maximum: IntOrPercent, pods: int, replicas: int, desired: int | None
) -> None:
    assert count_desired(minimum, maximum, pods, replicas) == desired


@pytest.mark.parametrize(
    ("bound", "is_valid"),
    [
        *((bound, True) for bound in (None, 0, 7, "0%", "050%", "100%")),
        *((bound, False) for bound in (-1, "", "50", "foo%", "33.3%", "-1%", "101%", "\u0665%")),
    ],
)
def test_the_bounds_that_an_api_server_accepts(bound: IntOrPercent, is_valid: bool) -> None:
    assert is_valid_int_or_percent(bound) is is_valid


ALLOWED: dict[str, tuple[int | None, int, int, bool, bool]] = {
    "more than desired": (2, 3, 0, True, True),
    "as many as desired": (3, 3, 0, True, False),
    "as many as desired, but one has recovered": (3, 3, 1, True, True),
    "never": (None, 3, 0, True, False),
    "a pod that is not ready": (3, 3, 0, False, True),
    "a pod that is not ready, and too few others": (3, 2, 0, False, False),
    "a pod that is not ready, and none is desired": (0, 0, 0, False, False),
}


@pytest.mark.parametrize(
    ("desired", "healthy", "recovered", "is_ready", "allowed"), ALLOWED.values(), ids=ALLOWED
)
def test_the_disruptions_that_a_budget_allows(
    desired: int | None, healthy: int, recovered: int, is_ready: bool, allowed: bool
) -> None:
    assert budget(desired, healthy).allows(recovered, is_ready=is_ready) is allowed


def test_pods_that_are_not_ready_may_always_go_by_policy() -> None:
    lenient = budget(3, 0, allows_unhealthy=True)

    assert lenient.allows(0, is_ready=False)
    assert not lenient.allows(0, is_ready=True)


def test_a_budget_selects_pods_of_its_namespace() -> None:
    assert budget(1, 1).selects("shop", {"app": "web"})
    assert not budget(1, 1).selects("other", {"app": "web"})
    assert not budget(1, 1).selects("shop", {"app": "api"})
