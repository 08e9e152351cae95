import pytest

from tests.build import default, gates, policy, profile, selector
from webhook.config.documents import check_scheduler
from webhook.config.validation import read_document
from webhook.export.exported import Export
from webhook.export.scheduler import export_scheduler
from webhook.manifests import format_yaml
from webhook.policy.defaulting.profiles import (
    SYSTEM_CONSTRAINTS,
    Merge,
    Mode,
    Policy,
    Profile,
    ScaleDown,
)
from webhook.policy.model import HOSTNAME, ZONE

ALWAYS = ["other settings", "exempt namespaces", "label", "pods"]
SYSTEM = profile(constraints=SYSTEM_CONSTRAINTS, system=True, gangs=True)
OTHER = frozenset({"other", "third"})


def profiles_of(export: Export) -> dict[str, object]:
    """The arguments of PodTopologySpread by scheduler."""
    (configuration,) = export.manifests
    return {
        one["schedulerName"]: one["pluginConfig"][0]["args"] for one in configuration["profiles"]
    }


def test_a_profile_becomes_the_defaults_of_its_scheduler() -> None:
    export = export_scheduler(policy(profile(gangs=True)))

    (configuration,) = export.manifests
    assert configuration == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "pluginConfig": [
                    {
                        "name": "PodTopologySpread",
                        "args": {
                            "defaultingType": "List",
                            "defaultConstraints": [
                                {
                                    "maxSkew": skew,
                                    "topologyKey": key,
                                    "whenUnsatisfiable": "ScheduleAnyway",
                                }
                                for skew, key in ((1, ZONE), (2, HOSTNAME))
                            ],
                        },
                    }
                ],
            }
        ],
    }
    assert [one.subject for one in export.omissions] == ALWAYS


@pytest.mark.parametrize(
    "exported",
    [
        policy(profile(), profile(name="others", scheduler_names=OTHER, constraints=())),
        policy(SYSTEM),
        policy(profile(constraints=(default(node_taints_policy="Honor"),))),
    ],
)
def test_what_is_written_is_read_back(exported: Policy) -> None:
    (configuration,) = export_scheduler(exported).manifests

    read = check_scheduler(read_document(format_yaml(configuration), "scheduler.yaml"))

    written = {
        (name, one.constraints, one.system)
        for one in exported.profiles
        for name in one.scheduler_names
    }
    assert {(*one.scheduler_names, one.constraints, one.system) for one in read.profiles} == written


def test_the_first_profile_of_a_scheduler_is_exported() -> None:
    first = profile(scheduler_names=OTHER, gangs=True)
    second = profile(name="second", scheduler_names=frozenset({"fourth", "other"}), gangs=True)
    third = profile(name="third", scheduler_names=frozenset({"other"}))

    export = export_scheduler(policy(first, second, third))

    assert list(profiles_of(export)) == ["other", "third", "fourth"]
    assert str(export.omissions[0]) == (
        "profile 'third': is left out: an earlier profile fits all pods of its schedulers"
    )


@pytest.mark.parametrize(
    "conditional",
    [
        profile(namespace_selector=selector(tier="prod")),
        profile(object_selector=selector(app="web")),
        profile(owner_kinds=frozenset({"ReplicaSet"})),
    ],
)
def test_a_profile_for_some_pods_of_a_scheduler_is_left_out(conditional: Profile) -> None:
    export = export_scheduler(policy(conditional))

    assert export.manifests == ()
    (omission,) = export.omissions
    assert omission.reason == (
        "is left out: kube-scheduler has the same defaults for all pods of a scheduler"
    )


def test_an_empty_selector_is_no_condition() -> None:
    export = export_scheduler(
        policy(profile(namespace_selector=selector(), object_selector=selector()))
    )

    assert list(profiles_of(export)) == ["default-scheduler"]


def test_system_defaults_whose_gate_is_off_are_an_empty_list() -> None:
    export = export_scheduler(policy(profile(system=True, constraints=())))

    assert profiles_of(export) == {
        "default-scheduler": {"defaultingType": "List", "defaultConstraints": []}
    }


@pytest.mark.parametrize(
    ("described", "word"),
    [
        (profile(gangs=True, mode=Mode.RECOMMEND), "mode recommend:"),
        (profile(gangs=True, merge=Merge.PER_TOPOLOGY_KEY), "merge:"),
        (profile(gangs=True, complete_selectors=True), "completeSelectors:"),
        (profile(gangs=True, scale_down=ScaleDown.KEEP_SPREAD), "scaleDown:"),
        (profile(gangs=True, constraints=(default(match_label_keys=("a",)),)), "matchLabelKeys:"),
        (profile(), "gangs:"),
    ],
)
def test_a_setting_without_a_counterpart_is_named(described: Profile, word: str) -> None:
    export = export_scheduler(policy(described))

    assert export.omissions[0].reason.startswith(word)
    assert [one.subject for one in export.omissions[1:]] == ALWAYS
    assert "matchLabelKeys" not in str(export.manifests)


def test_settings_of_the_policy_without_a_counterpart_are_named() -> None:
    described = policy(profile(gangs=True), mode=Mode.RECOMMEND, exempt_namespaces=frozenset())

    assert [one.subject for one in export_scheduler(described).omissions] == [
        "other settings",
        "mode recommend",
        "label",
        "pods",
    ]


def test_a_gate_switches_the_export_off() -> None:
    export = export_scheduler(policy(profile(), gates=gates(EvenspreadDefaults=False)))

    assert export.manifests == ()
    assert "EvenspreadDefaults" in str(export.omissions[0])
