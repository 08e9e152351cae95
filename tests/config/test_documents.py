from datetime import timedelta

import pytest

from tests.config.configs import (
    FILES,
    HARD,
    HEAD,
    SOFT,
    check,
    check_scheduler,
    errors_of,
    one_profile,
)
from webhook.config.configuration import Configuration
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import (
    DEFAULT_SCHEDULER,
    SYSTEM_CONSTRAINTS,
    FieldDefaults,
    Merge,
    Mode,
    Profile,
    ScaleDown,
)
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import Constraint, GroupKind, LabelSelector, LabelSelectorRequirement
from webhook.policy.rule_entry import Action


def test_a_file_without_settings_means_the_defaults() -> None:
    checked = check("")

    assert checked == Configuration(files=("etc/spread.yaml",))
    assert checked.profiles == ()
    assert checked.mode is Mode.APPLY
    assert checked.ca_overlap == timedelta(minutes=10)
    assert not checked.scale_down_repair
    assert checked.exempt_namespaces == {"kube-system"}


def test_null_is_absent() -> None:
    assert check("mode: null\nprofiles:\nexempt: {namespaces: ~}") == check("")


def test_every_setting_is_read() -> None:
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
        "scaleDownRepair: true\n"
    )

    assert checked.mode is Mode.RECOMMEND
    assert checked.exempt_namespaces == {"a", "b"}
    assert checked.actions["TSC101"] is Action.OFF
    assert checked.actions["TSC102"] is Action.DENY
    assert checked.actions["TSC103"] is DEFAULT_ACTIONS["TSC103"]
    assert checked.not_exemptible == {"TSC102", "TSC103"}
    assert checked.field_defaults is FieldDefaults.NONE
    assert checked.configured_gates == {
        "AllBeta": (False, "etc/spread.yaml:10: featureGates.AllBeta"),
    }
    assert checked.pod_templates[GroupKind("g", "K")] == ("spec", "pod")
    assert checked.pod_templates.items() > BUILT_IN_TEMPLATES.items()
    assert [owner.path for owner in checked.owner_selectors] == [("spec", "other")]
    assert checked.ca_overlap == timedelta(minutes=90)
    assert checked.scale_down_repair


def test_a_profile_is_read_completely() -> None:
    (profile,) = check(
        one_profile(
            "match:\n"
            "    namespaceSelector: {matchLabels: {tier: prod}}\n"
            "    objectSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}\n"
            "    ownerKinds: [ReplicaSet]\n"
            "    schedulerNames: [a, b]\n"
            "  merge: PerTopologyKey\n"
            "  mode: recommend\n"
            "  completeSelectors: true\n"
            "  scaleDown: KeepSpread\n"
            "  gangs: true\n"
            "  rules: {TSC101: deny, TSC102: off, TSC103: {exemptible: false}}\n"
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
        mode=Mode.RECOMMEND,
        merge=Merge.PER_TOPOLOGY_KEY,
        complete_selectors=True,
        scale_down=ScaleDown.KEEP_SPREAD,
        gangs=True,
        actions={"TSC101": Action.DENY, "TSC102": Action.OFF},
        exemptible={"TSC103": False},
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


def test_an_empty_selector_matches_all_pods() -> None:
    (profile,) = check(
        one_profile(
            "match: {namespaceSelector: {}, objectSelector: {matchLabels: {}}}\n"
            "  defaultConstraints: []"
        )
    ).profiles

    assert profile == Profile(name="a")


def test_a_file_of_kube_scheduler_is_no_configuration_of_ours() -> None:
    (error,) = errors_of(FILES["etc/system.yaml"])

    problem = "is KubeSchedulerConfiguration: give the file with --scheduler-config"
    assert error == f"etc/spread.yaml:3: kind: {problem}"


def test_a_file_of_kube_scheduler_becomes_one_profile_for_each_scheduler() -> None:
    configuration = check_scheduler(FILES["etc/two.yaml"])

    names = [(profile.name, *profile.scheduler_names) for profile in configuration.profiles]
    assert names == [("default-scheduler", "default-scheduler"), ("other", "other")]
    assert configuration.files == ("k.yaml",)


SCHEDULERS: dict[str, tuple[Configuration, dict[str, tuple[Constraint, ...]]]] = {
    "none is configured": (check(""), {}),
    "a file with two schedulers": (check_scheduler(FILES["etc/two.yaml"]), {"other": ()}),
    "a file of a profile": (
        check(one_profile("schedulerConfiguration: two.yaml")),
        {"other": ()},
    ),
    "arguments without a scheduler": (
        check_scheduler("defaultingType: List\ndefaultConstraints: []"),
        {DEFAULT_SCHEDULER: ()},
    ),
    "defaults of a profile, which kube-scheduler does not know": (
        check(one_profile(f"defaultConstraints: [{SOFT}]")),
        {},
    ),
}


@pytest.mark.parametrize(("checked", "configured"), SCHEDULERS.values(), ids=SCHEDULERS.keys())
def test_the_defaults_of_kube_scheduler_are_known(
    checked: Configuration, configured: dict[str, tuple[Constraint, ...]]
) -> None:
    assert checked.scheduler_defaults == {DEFAULT_SCHEDULER: SYSTEM_CONSTRAINTS, **configured}


def test_ignored_match_label_keys_are_noticed() -> None:
    entry = f"{SOFT[:-1]}, matchLabelKeys: [version]}}"

    configuration = check_scheduler(f"defaultingType: List\ndefaultConstraints: [{entry}]")

    (notice,) = configuration.notices
    assert notice.startswith("k.yaml:2: defaultConstraints[0].matchLabelKeys: ignored")


def test_an_invalid_setting_hides_no_error_of_a_file() -> None:
    text = one_profile("schedulerConfiguration: bad.yaml")

    found = errors_of(f"{HEAD}mode: x\n{text}")

    assert [error.partition(": ")[0] for error in found] == ["etc/spread.yaml:3", "etc/bad.yaml:3"]
