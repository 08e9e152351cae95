import pytest

from webhook.policy.model import Taint
from webhook.policy.placement.taints import (
    UNSCHEDULABLE,
    Toleration,
    find_untolerated,
    render_taint,
    tolerates,
)

GPU = Taint(key="gpu", value="a100", effect="NoSchedule")
SPOT = Taint(key="spot", effect="NoExecute")
SLOW = Taint(key="slow", effect="PreferNoSchedule")

# toleration, taint, does it match
TOLERATES = {
    "Equal needs the same value": (
        Toleration(key="gpu", operator="Equal", value="a100"), GPU, True
    ),
    "Equal with another value does not": (
        Toleration(key="gpu", operator="Equal", value="h100"), GPU, False
    ),
    "a missing operator is Equal": (Toleration(key="gpu", value="a100"), GPU, True),
    "a missing value is the empty one": (Toleration(key="spot"), SPOT, True),
    "a missing value is not any value": (Toleration(key="gpu"), GPU, False),
    "Exists looks at no value": (Toleration(key="gpu", operator="Exists"), GPU, True),
    "another key does not match": (Toleration(key="spot", operator="Exists"), GPU, False),
    "no key with Exists matches every taint": (Toleration(operator="Exists"), GPU, True),
    "no key with Equal compares values only": (Toleration(value="a100"), GPU, True),
    "the same effect matches": (
        Toleration(key="gpu", operator="Exists", effect="NoSchedule"), GPU, True
    ),
    "another effect does not": (
        Toleration(key="gpu", operator="Exists", effect="NoExecute"), GPU, False
    ),
    "an unknown operator matches nothing": (Toleration(key="gpu", operator="Gt"), GPU, False),
}  # fmt: skip


@pytest.mark.parametrize(
    ("toleration", "taint", "matches"), TOLERATES.values(), ids=TOLERATES.keys()
)
def test_tolerates(toleration: Toleration, taint: Taint, matches: bool) -> None:
    assert tolerates(toleration, taint) is matches


def test_the_first_excluding_taint_that_is_not_tolerated_is_named() -> None:
    assert find_untolerated((SLOW, GPU, SPOT), (Toleration(key="gpu", operator="Exists"),)) == SPOT


def test_one_of_several_tolerations_suffices() -> None:
    gpu, spot = (Toleration(key=key, operator="Exists") for key in ("gpu", "spot"))

    assert find_untolerated((GPU,), (spot, gpu)) is None
    assert find_untolerated((GPU,), (spot,)) == GPU


def test_a_cordon_is_a_taint_of_kubernetes() -> None:
    assert render_taint(UNSCHEDULABLE) == "node.kubernetes.io/unschedulable:NoSchedule"


def test_a_preference_excludes_nothing() -> None:
    assert find_untolerated((SLOW,), ()) is None


def test_a_taint_is_written_as_kubectl_reads_it() -> None:
    assert [render_taint(GPU), render_taint(SPOT)] == ["gpu=a100:NoSchedule", "spot:NoExecute"]
