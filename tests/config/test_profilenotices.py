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


AUDITED = "has an effect in audits only, on their exit code and report: admission does not check"
DENIALS: dict[str, tuple[str, list[str]]] = {
    "rules that only audits check": (
        "rules: {TSC114: deny, TSC112: {action: deny}}",
        [f"rules: deny for TSC112, TSC114 {AUDITED} such rules"],
    ),
    "a rule of a profile": (
        one_profile("rules: {TSC106: deny, TSC101: deny}\n  defaultConstraints: []"),
        [f"profile 'a': deny for TSC106 {AUDITED} such rules"],
    ),
    "rules that admission checks": ("rules: {TSC101: deny, TSC111: deny}", []),
    "other actions": ("rules: {TSC112: warn, TSC114: {exemptible: false}}", []),
}


@pytest.mark.parametrize(("text", "notices"), DENIALS.values(), ids=DENIALS.keys())
def test_a_notice_names_denials_by_rules_that_admission_does_not_check(
    text: str, notices: list[str]
) -> None:
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
