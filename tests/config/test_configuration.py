import pytest

from tests.config.configs import (
    SOFT,
    check,
    one_profile,
)
from webhook.config.configuration import list_denying_rules
from webhook.config.configuration import policy as make_policy
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import parse_version
from webhook.policy.defaulting.profiles import (
    DEFAULT_SCHEDULER,
    SYSTEM_CONSTRAINTS,
    FieldDefaults,
    Mode,
)
from webhook.policy.model import GroupKind


def test_system_defaults_exist_only_while_their_gate_is_on() -> None:
    text = f"schedulerConfiguration: system.yaml\n- name: b\n  defaultConstraints: [{SOFT}]"
    checked = check(one_profile(text))

    before = make_policy(checked, resolve(parse_version("1.19"), {}))
    after = make_policy(checked, resolve(parse_version("1.20"), {}))

    assert [len(profile.constraints) for profile in before.profiles] == [0, 1]
    assert after.profiles == checked.profiles


def test_the_policy_follows_the_configuration() -> None:
    checked = check("mode: recommend\nfieldDefaults: all\nexempt: {namespaces: []}")
    gates = resolve(parse_version("1.36"), {})

    policy = make_policy(checked, gates)

    assert policy.gates is gates
    assert policy.mode is Mode.RECOMMEND
    assert policy.field_defaults is FieldDefaults.ALL
    assert policy.exempt_namespaces == frozenset()
    assert policy.pod_templates[GroupKind("argoproj.io", "Rollout")] == ("spec", "template")


@pytest.mark.parametrize(
    ("text", "denying"),
    [
        ("rules: {}", []),
        ("rules: {TSC101: deny}", ["TSC101"]),
        ("rules: {TSC101: {action: deny, exemptible: false}}", ["TSC101"]),
        ("rules: {TSC101: warn, TSC102: off}", []),
        ("rules: {TSC111: deny, TSC112: deny}", []),
        (one_profile("rules: {TSC112: deny}\n  defaultConstraints: []"), []),
        (one_profile("rules: {TSC101: warn, TSC102: off}\n  defaultConstraints: []"), []),
        (
            one_profile("rules: {TSC102: {action: deny}}\n  defaultConstraints: []")
            + "rules: {TSC101: deny}",
            ["TSC101", "TSC102 in profile a"],
        ),
    ],
)
def test_pods_are_validated_if_a_rule_denies_unless_it_is_set(
    text: str, denying: list[str]
) -> None:
    configuration = check(text)
    denies = bool(denying)
    assert list(list_denying_rules(configuration)) == denying
    gates = resolve(parse_version("1.36"), {})

    assert make_policy(configuration, gates).validates_pods is denies
    for forced in (False, True):
        made = make_policy(configuration, gates, validates_pods=forced)
        assert made.validates_pods is forced


def test_kube_scheduler_has_system_defaults_only_while_their_gate_is_on() -> None:
    before = make_policy(check(""), resolve(parse_version("1.19"), {}))
    after = make_policy(check(""), resolve(parse_version("1.20"), {}))

    assert before.scheduler_defaults == {DEFAULT_SCHEDULER: ()}
    assert after.scheduler_defaults == {DEFAULT_SCHEDULER: SYSTEM_CONSTRAINTS}
