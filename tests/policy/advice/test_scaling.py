import pytest

from webhook.policy.advice.scaling import Autoscaler, ReplicaRange, find_range
from webhook.policy.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER, SCALED_OBJECT
from webhook.policy.model import GroupKind


def autoscaler(
    name: str, least: int, most: int, kind: GroupKind = HORIZONTAL_POD_AUTOSCALER
) -> Autoscaler:
    return Autoscaler(
        kind=kind,
        namespace="shop",
        name=name,
        target=DEPLOYMENT,
        target_name="web",
        least=least,
        most=most,
    )


HPA = autoscaler("web", 2, 6)
KEDA = autoscaler("queue", 0, 9, SCALED_OBJECT)
OF_KEDA = autoscaler("keda-hpa-queue", 1, 9)

# autoscalers, replicas of the workload, the range
FOUND: dict[str, tuple[list[Autoscaler], int | None, ReplicaRange | None]] = {
    "none": ([], 3, None),
    "one": ([HPA], 3, ReplicaRange(2, 6, "HorizontalPodAutoscaler/web")),
    "replicas that the object does not say": ([HPA], None, HPA.range),
    "that of KEDA and the one it creates": (
        [OF_KEDA, KEDA],
        1,
        ReplicaRange(0, 9, "ScaledObject/queue"),
    ),
    "two of a kind": ([autoscaler("zeta", 1, 2), HPA], 3, HPA.range),
    "a workload at zero, which it leaves there": ([HPA], 0, None),
    "a workload at zero, where it may scale to": (
        [autoscaler("web", 0, 6)],
        0,
        ReplicaRange(0, 6, "HorizontalPodAutoscaler/web"),
    ),
    "a workload at zero, which KEDA wakes": ([KEDA], 0, KEDA.range),
}


@pytest.mark.parametrize(("autoscalers", "replicas", "found"), FOUND.values(), ids=FOUND.keys())
def test_the_range_of_a_workload(
    autoscalers: list[Autoscaler], replicas: int | None, found: ReplicaRange | None
) -> None:
    assert find_range(autoscalers, replicas) == found


def test_the_most_is_never_below_the_least() -> None:
    assert autoscaler("web", 5, 3).range == ReplicaRange(5, 5, "HorizontalPodAutoscaler/web")


def test_a_range_names_its_autoscaler() -> None:
    assert str(HPA.range) == "replicas (2 to 6 by HorizontalPodAutoscaler/web)"


def test_a_range_of_one_number_is_a_number() -> None:
    assert str(ReplicaRange(4, 4, "ScaledObject/r")) == "4 replicas (by ScaledObject/r)"
