import pytest

from tests.config.configs import check, one_profile

NOTHING_RANKED = (
    "scaleDownRepair: has no effect unless a SpreadPolicy has scaleDown: KeepSpread, as no profile "
    "has it; add it to a profile, or remove scaleDownRepair"
)
NOT_BY_COST = (
    "profile 'a': scaleDown: KeepSpread has no effect, as match.ownerKinds has neither ReplicaSet "
    "nor ReplicationController; other controllers ignore the cost of a pod's deletion"
)
KEEPS = "scaleDown: KeepSpread\n  defaultConstraints: []\n"
SCALE_DOWNS: dict[str, tuple[str, list[str]]] = {
    "nothing": ("", []),
    "a profile": (one_profile(KEEPS), []),
    "a profile and repair": (one_profile(KEEPS) + "scaleDownRepair: true", []),
    "repair alone": ("scaleDownRepair: true", [NOTHING_RANKED]),
    "pods of StatefulSets": (
        one_profile("match: {ownerKinds: [StatefulSet]}\n  " + KEEPS),
        [NOT_BY_COST],
    ),
    "pods of ReplicationControllers among others": (
        one_profile("match: {ownerKinds: [Job, ReplicationController]}\n  " + KEEPS),
        [],
    ),
}


@pytest.mark.parametrize(("text", "notices"), SCALE_DOWNS.values(), ids=SCALE_DOWNS.keys())
def test_a_notice_names_a_scale_down_without_effect(text: str, notices: list[str]) -> None:
    assert list(check(text).notices) == notices


RECOMMENDS = "mode: recommend\n"
OVERRIDDEN = (
    "profile 'a': mode: apply has no effect, as the configuration has mode: recommend; write "
    "mode: recommend in the other profiles instead"
)
EMPTY = "defaultConstraints: []\n"
MODES: dict[str, tuple[str, list[str]]] = {
    "both apply": (one_profile("mode: apply\n  " + EMPTY), []),
    "a profile recommends": (one_profile("mode: recommend\n  " + EMPTY), []),
    "all recommends": (one_profile(EMPTY) + RECOMMENDS, []),
    "a profile would apply, but all recommends": (
        one_profile("mode: apply\n  " + EMPTY) + RECOMMENDS,
        [OVERRIDDEN],
    ),
}


@pytest.mark.parametrize(("text", "notices"), MODES.values(), ids=MODES.keys())
def test_a_notice_names_a_mode_without_effect(text: str, notices: list[str]) -> None:
    assert list(check(text).notices) == notices
