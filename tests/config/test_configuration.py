from datetime import timedelta
from pathlib import Path

import pytest

from tests.config.configs import HARD, HEAD, SOFT, check, one_profile
from webhook import config
from webhook.config import Configuration
from webhook.errors import CombinedConfigError
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import parse_version
from webhook.policy.catalogue import DEFAULT_ACTIONS, Action
from webhook.policy.defaulting.profiles import (
    SYSTEM_CONSTRAINTS,
    ZONE,
    FieldDefaults,
    Merge,
    Mode,
    Profile,
)
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import Constraint, GroupKind, LabelSelector, LabelSelectorRequirement

SOFT_CONSTRAINT = Constraint(max_skew=1, topology_key="zone", when_unsatisfiable="ScheduleAnyway")


def test_nothing_but_version_and_kind_means_the_defaults() -> None:
    checked = check("")

    assert checked == Configuration(files=("etc/spread.yaml",))
    assert checked.profiles == ()
    assert checked.mode is Mode.APPLY
    assert checked.ca_overlap == timedelta(minutes=10)
    assert checked.exempt_namespaces == {"kube-system"}


def test_null_is_absent() -> None:
    assert check("mode: null\nprofiles:\nexempt: {namespaces: ~}") == check("")


def test_every_setting_arrives() -> None:
    checked = check(
        "mode: recommend\n"
        "exempt: {namespaces: [a, b]}\n"
        "rules:\n  TSC101: off\n  TSC102: {action: deny, exemptible: false}\n"
        "  TSC103: {exemptible: false}\n"
        "fieldDefaults: none\n"
        "featureGates: {AllBeta: false}\n"
        "podTemplates: [{group: g, kind: K, path: spec.pod}]\n"
        "ownerSelectors: [{group: argoproj.io, kind: Rollout, selectorPath: spec.other}]\n"
        "caOverlap: 1h30m\n"
    )

    assert checked.mode is Mode.RECOMMEND
    assert checked.exempt_namespaces == {"a", "b"}
    assert checked.actions["TSC101"] is Action.OFF
    assert checked.actions["TSC102"] is Action.DENY
    assert checked.actions["TSC103"] is DEFAULT_ACTIONS["TSC103"]
    assert checked.not_exemptible == {"TSC102", "TSC103"}
    assert checked.field_defaults is FieldDefaults.NONE
    assert checked.asked_gates == {
        "AllBeta": (False, "etc/spread.yaml:10: featureGates.AllBeta"),
    }
    assert checked.pod_templates[GroupKind("g", "K")] == ("spec", "pod")
    assert checked.pod_templates.items() > BUILT_IN_TEMPLATES.items()
    assert [owner.path for owner in checked.owner_selectors] == [("spec", "other")]
    assert checked.ca_overlap == timedelta(minutes=90)


def test_a_profile_of_ours_arrives_whole() -> None:
    (profile,) = check(
        one_profile(
            "match:\n"
            "    namespaceSelector: {matchLabels: {tier: prod}}\n"
            "    objectSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}\n"
            "    ownerKinds: [ReplicaSet]\n"
            "    schedulerNames: [a, b]\n"
            "  merge: PerTopologyKey\n"
            "  completeSelectors: true\n"
            f"  defaultConstraints: [{{{HARD}, minDomains: 2, matchLabelKeys: [v]}}]"
        )
    ).profiles

    expression = LabelSelectorRequirement(key="a", operator="In", values=("b",))
    assert profile == Profile(
        name="a",
        namespace_selector=LabelSelector({"tier": "prod"}),
        object_selector=LabelSelector({}, (expression,)),
        owner_kinds=frozenset({"ReplicaSet"}),
        scheduler_names=frozenset({"a", "b"}),
        merge=Merge.PER_TOPOLOGY_KEY,
        complete_selectors=True,
        constraints=(
            Constraint(
                max_skew=1,
                topology_key="zone",
                when_unsatisfiable="DoNotSchedule",
                min_domains=2,
                match_label_keys=("v",),
            ),
        ),
    )


def test_an_empty_selector_asks_for_nothing() -> None:
    (profile,) = check(
        one_profile(
            "match: {namespaceSelector: {}, objectSelector: {matchLabels: {}}}\n"
            "  defaultConstraints: []"
        )
    ).profiles

    assert profile == Profile(name="a")


def test_a_profile_may_take_its_constraints_from_a_file_beside_it() -> None:
    checked = check(one_profile("merge: PerTopologyKey\n  schedulerConfiguration: system.yaml"))

    (profile,) = checked.profiles
    assert profile == Profile(
        name="a", merge=Merge.PER_TOPOLOGY_KEY, constraints=SYSTEM_CONSTRAINTS, system=True
    )
    assert checked.files == ("etc/spread.yaml", "etc/system.yaml")


def test_bare_arguments_serve_the_schedulers_that_the_profile_names() -> None:
    text = "match: {schedulerNames: [x]}\n  schedulerConfiguration: args.yaml"

    (profile,) = check(one_profile(text)).profiles

    assert profile.scheduler_names == {"x"}
    assert profile.constraints == (SOFT_CONSTRAINT,)


def test_a_file_of_two_schedulers_makes_two_profiles() -> None:
    profiles = check(one_profile("schedulerConfiguration: two.yaml")).profiles

    named = [(profile.name, *profile.scheduler_names, profile.system) for profile in profiles]
    assert named == [
        ("a/default-scheduler", "default-scheduler", True),
        ("a/other", "other", False),
    ]


def test_a_profile_may_choose_among_the_schedulers_of_its_file() -> None:
    text = "match: {schedulerNames: [other]}\n  schedulerConfiguration: two.yaml"

    (profile,) = check(one_profile(text)).profiles

    assert profile.name == "a"
    assert profile.scheduler_names == {"other"}


def test_system_defaults_exist_only_while_their_gate_is_on() -> None:
    text = f"schedulerConfiguration: system.yaml\n- name: b\n  defaultConstraints: [{SOFT}]"
    checked = check(one_profile(text))

    before = config.policy(checked, resolve(parse_version("1.19"), {}))
    after = config.policy(checked, resolve(parse_version("1.20"), {}))

    assert [len(profile.constraints) for profile in before.profiles] == [0, 1]
    assert after.profiles == checked.profiles


def test_the_policy_is_what_the_configuration_says() -> None:
    checked = check("mode: recommend\nfieldDefaults: all\nexempt: {namespaces: []}")
    gates = resolve(parse_version("1.36"), {})

    policy = config.policy(checked, gates)

    assert policy.gates is gates
    assert policy.mode is Mode.RECOMMEND
    assert policy.field_defaults is FieldDefaults.ALL
    assert policy.exempt_namespaces == frozenset()
    assert policy.pod_templates[GroupKind("argoproj.io", "Rollout")] == ("spec", "template")


@pytest.mark.parametrize(
    ("rules", "denies"),
    [
        ("{}", False),
        ("{TSC101: deny}", True),
        ("{TSC101: {action: deny, exemptible: false}}", True),
        ("{TSC101: warn, TSC102: off}", False),
    ],
)
def test_pods_are_validated_where_a_rule_denies_unless_it_is_set(rules: str, denies: bool) -> None:
    configuration = check(f"rules: {rules}\n")
    gates = resolve(parse_version("1.36"), {})

    assert config.policy(configuration, gates).validates_pods is denies
    for forced in (False, True):
        made = config.policy(configuration, gates, validates_pods=forced)
        assert made.validates_pods is forced


def test_the_shipped_examples_load() -> None:
    checked = config.load("examples/config/spread.yaml")

    assert [profile.name for profile in checked.profiles] == ["payments", "cluster"]
    assert checked.profiles[0].constraints[0].topology_key == ZONE
    assert checked.files[1] == "examples/config/kube-scheduler.yaml"
    (profile,) = config.load(scheduler_config="examples/config/kube-scheduler.yaml").profiles
    assert profile.name == "default-scheduler"
    assert not profile.system


def test_without_files_nothing_is_injected() -> None:
    assert config.load() == Configuration()


UNREADABLE = {
    "no file": ("none.yaml", b"", "cannot be read: No such file or directory"),
    "a folder": (".", b"", "cannot be read: Is a directory"),
    "no name of a file": ("a\0b", b"", "cannot be read: no such name can be"),
    "not UTF-8": ("x.yaml", b"a: \xff", "is not UTF-8: save it as such"),
    "too large": ("x.yaml", b"#" * (2**20 + 1), "is larger than 1 MiB, and so than any ConfigMap"),
}


@pytest.mark.parametrize(("name", "content", "told"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_file_that_cannot_be_read_is_a_mistake(
    tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    if content:
        (tmp_path / name).write_bytes(content)

    with pytest.raises(CombinedConfigError) as caught:
        config.load(str(tmp_path / name))

    assert told in str(caught.value)


def test_a_byte_order_mark_is_not_in_the_way(tmp_path: Path) -> None:
    file = tmp_path / "spread.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + HEAD.encode())

    assert config.load(str(file)).files == (str(file),)


def test_two_files_at_once_are_refused() -> None:
    with pytest.raises(CombinedConfigError, match="--scheduler-config: cannot be given together"):
        config.load("a", "b")
