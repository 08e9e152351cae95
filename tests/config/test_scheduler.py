import pytest

from tests.config.configs import check_scheduler
from webhook.errors import CombinedConfigError
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS, Profile
from webhook.policy.model import Constraint

GROUP = "kubescheduler.config.k8s.io"
ENTRY = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}"
CONSTRAINT = Constraint(max_skew=1, topology_key="zone", when_unsatisfiable="ScheduleAnyway")

SYSTEM = Profile(name="default-scheduler", constraints=SYSTEM_CONSTRAINTS, system=True)
EMPTY = Profile(name="default-scheduler")
LIST = Profile(name="default-scheduler", constraints=(CONSTRAINT,))


def file(version: str, rest: str = "") -> str:
    return f"apiVersion: {GROUP}/{version}\nkind: KubeSchedulerConfiguration\n{rest}"


def with_args(version: str, args: str) -> str:
    plugin = "  - name: PodTopologySpread\n    args:\n"
    members = "".join(f"      {line}\n" for line in args.splitlines())
    return file(version, f"profiles:\n- pluginConfig:\n{plugin}{members}")


MEANINGS = {
    "v1 without profiles": (file("v1"), SYSTEM),
    "v1 without arguments": (file("v1", "profiles:\n- schedulerName: default-scheduler"), SYSTEM),
    "v1 with arguments of other plugins": (
        file(
            "v1", "profiles:\n- pluginConfig:\n  - {name: NodeAffinity, args: {addedAffinity: {}}}"
        ),
        SYSTEM,
    ),
    "v1 with arguments that are null": (with_args("v1", ""), SYSTEM),
    "v1 with an empty type": (with_args("v1", "defaultingType: ''"), SYSTEM),
    "v1 with System": (with_args("v1", "defaultingType: System"), SYSTEM),
    "v1 with an empty list": (with_args("v1", "defaultingType: List"), EMPTY),
    "v1 with a list": (
        with_args("v1", f"defaultingType: List\ndefaultConstraints: [{ENTRY}]"),
        LIST,
    ),
    "v1 with settings of other plugins": (
        file("v1", "parallelism: many\nextenders: {}\nprofiles:\n- {plugins: [1], percentage: x}"),
        SYSTEM,
    ),
    "v1beta3 without a type": (with_args("v1beta3", "defaultConstraints: []"), SYSTEM),
    "v1beta2 without a type": (with_args("v1beta2", "defaultConstraints: []"), SYSTEM),
    "v1beta1 without a type and with a list": (
        with_args("v1beta1", f"defaultConstraints: [{ENTRY}]"),
        LIST,
    ),
    "v1beta1 without a type and a list": (with_args("v1beta1", "defaultConstraints: []"), SYSTEM),
    "v1alpha2 with a list": (with_args("v1alpha2", f"defaultConstraints: [{ENTRY}]"), LIST),
    "v1alpha2 without a list": (file("v1alpha2"), EMPTY),
    "arguments of an older version than the file": (
        with_args("v1", f"apiVersion: {GROUP}/v1beta1\ndefaultConstraints: [{ENTRY}]"),
        LIST,
    ),
    "bare arguments": (
        f"apiVersion: {GROUP}/v1\nkind: PodTopologySpreadArgs\ndefaultingType: System",
        SYSTEM,
    ),
    "bare arguments of v1beta1": (
        f"apiVersion: {GROUP}/v1beta1\nkind: PodTopologySpreadArgs\ndefaultConstraints: [{ENTRY}]",
        LIST,
    ),
    "bare arguments without a kind": (f"defaultingType: List\ndefaultConstraints: [{ENTRY}]", LIST),
}


@pytest.mark.parametrize(("text", "profile"), MEANINGS.values(), ids=MEANINGS.keys())
def test_a_scheduler_file_is_read_as_by_kube_scheduler(text: str, profile: Profile) -> None:
    assert check_scheduler(text).profiles == (profile,)


ERRORS = {
    "the example of 2020, whose profiles lack the dash": (
        file(
            "v1alpha2",
            "\nprofiles:\n  pluginConfig:\n    - name: PodTopologySpread\n"
            f"      args:\n        defaultConstraints: [{ENTRY}]\n",
        ),
        [
            (
                "4: profiles: must be a list, not a mapping: "
                "a dash belongs before 'pluginConfig' in line 5, as `- pluginConfig:`"
            )
        ],
    ),
    "a list without its type": (
        with_args("v1", f"defaultConstraints: [{ENTRY}]"),
        [
            (
                "6: profiles[0].pluginConfig[0].args.defaultingType: "
                'Invalid value: "System": when .defaultConstraints are not empty; '
                "write `defaultingType: List`, or leave out defaultConstraints"
            )
        ],
    ),
    "a type in v1alpha2": (
        with_args("v1alpha2", "defaultingType: List"),
        [
            (
                "7: profiles[0].pluginConfig[0].args.defaultingType: is not known to v1alpha2: "
                f"leave it out, or write apiVersion: {GROUP}/v1"
            )
        ],
    ),
    "an unknown version": (
        file("v2"),
        [
            f"1: apiVersion: cannot be '{GROUP}/v2': did you mean {GROUP}/v1?",
        ],
    ),
    "an unknown kind": (
        f"apiVersion: {GROUP}/v1\nkind: KubeletConfiguration",
        ["2: kind: cannot be 'KubeletConfiguration': did you mean KubeSchedulerConfiguration?"],
    ),
    "a kind like none": (
        "apiVersion: v1\nkind: ConfigMap",
        [
            (
                "2: kind: cannot be 'ConfigMap': write KubeSchedulerConfiguration or "
                "PodTopologySpreadArgs"
            )
        ],
    ),
    "no kind": (
        f"apiVersion: {GROUP}/v1",
        ["1: kind: is missing: write it, as `kind: KubeSchedulerConfiguration`"],
    ),
    "a kind that is no text": (
        "kind: [1]",
        ["1: kind: cannot be a list: write KubeSchedulerConfiguration or PodTopologySpreadArgs"],
    ),
    "a file of ours": (
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration",
        ["2: kind: is SpreadConfiguration: give the file with --config"],
    ),
    "an unknown key in the arguments": (
        with_args("v1", "defaultConstraint: []"),
        [
            (
                "7: profiles[0].pluginConfig[0].args.defaultConstraint: no such key: "
                "did you mean defaultConstraints?"
            )
        ],
    ),
    "arguments of another plugin": (
        with_args("v1", "kind: NodeAffinityArgs"),
        [
            (
                "7: profiles[0].pluginConfig[0].args.kind: cannot be 'NodeAffinityArgs': "
                "write PodTopologySpreadArgs"
            )
        ],
    ),
    "arguments twice": (
        file("v1", "profiles:\n- pluginConfig:\n" + "  - name: PodTopologySpread\n" * 2),
        [
            (
                "6: profiles[0].pluginConfig[1].name: configures PodTopologySpread once more: "
                "leave one of the entries"
            )
        ],
    ),
    "schedulers without names, and with one name": (
        file("v1", "profiles:\n- schedulerName: a\n- schedulerName: a\n- plugins: {}"),
        [
            "5: profiles[1].schedulerName: 'a' names an earlier profile too: write another name",
            (
                "6: profiles[2].schedulerName: is missing: each of several profiles "
                "needs one of its own"
            ),
        ],
    ),
    "minDomains with ScheduleAnyway": (
        (
            "defaultingType: List\ndefaultConstraints:\n- maxSkew: 1\n  topologyKey: zone\n"
            "  whenUnsatisfiable: ScheduleAnyway\n  minDomains: 3"
        ),
        [
            (
                "6: defaultConstraints[0].minDomains: Invalid value: 3: can only use minDomains if "
                "whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway, so no pod with "
                "it could be created; "
                "write `whenUnsatisfiable: DoNotSchedule`, or leave minDomains out"
            )
        ],
    ),
    "two constraints of one topologyKey and action": (
        f"defaultingType: List\ndefaultConstraints:\n- {ENTRY}\n- {ENTRY}",
        [
            (
                '4: defaultConstraints[1]: Duplicate value: "{zone, ScheduleAnyway}"; '
                "remove one of the "
                "two entries, or join them into one with the smaller maxSkew"
            )
        ],
    ),
}


@pytest.mark.parametrize(("text", "messages"), ERRORS.values(), ids=ERRORS.keys())
def test_errors_of_a_scheduler_file_are_reported(text: str, messages: list[str]) -> None:
    with pytest.raises(CombinedConfigError) as caught:
        check_scheduler(text)

    assert str(caught.value).splitlines() == [f"k.yaml:{line}" for line in messages]


def test_each_scheduler_gets_a_profile() -> None:
    text = file("v1", "profiles:\n- schedulerName: a\n- schedulerName: b")

    profiles = check_scheduler(text).profiles

    assert [(one.name, *one.scheduler_names) for one in profiles] == [("a", "a"), ("b", "b")]


def test_match_label_keys_are_ignored_with_a_notice_as_by_kube_scheduler() -> None:
    entry = f"{ENTRY[:-1]}, matchLabelKeys: [not a key]}}"

    checked = check_scheduler(f"defaultingType: List\ndefaultConstraints:\n- {entry}")

    assert checked.profiles == (LIST,)
    assert checked.notices == (
        (
            "k.yaml:3: defaultConstraints[0].matchLabelKeys: ignored, as "
            "kube-scheduler ignores it in "
            "defaults; a profile with defaultConstraints of its own keeps matchLabelKeys"
        ),
    )


SCORING_OFF = "  plugins: {score: {disabled: [{name: PodTopologySpread}]}}\n"
HARD_ENTRY = ENTRY.replace("ScheduleAnyway", "DoNotSchedule")
HARD_CONSTRAINT = Constraint(max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule")
NOTICE = (
    "k.yaml:{}: profiles[0].plugins: kube-scheduler applies no defaults with ScheduleAnyway, since "
    "PodTopologySpread is disabled at score"
)

LISTED = """\
- pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: ["""

# profile of the scheduler, what it means, the lines of the notice
DISABLED: dict[str, tuple[str, Profile, list[int]]] = {
    "System defaults": (f"- {SCORING_OFF.lstrip()}", EMPTY, [4]),
    "a list": (
        f"{LISTED}{ENTRY}, {HARD_ENTRY}]\n{SCORING_OFF}",
        Profile(name="default-scheduler", constraints=(HARD_CONSTRAINT,)),
        [9],
    ),
    "a hard list": (
        f"{LISTED}{HARD_ENTRY}]\n{SCORING_OFF}",
        Profile(name="default-scheduler", constraints=(HARD_CONSTRAINT,)),
        [],
    ),
}


@pytest.mark.parametrize(("entry", "profile", "lines"), DISABLED.values(), ids=DISABLED.keys())
def test_defaults_of_a_disabled_plugin_do_not_apply(
    entry: str, profile: Profile, lines: list[int]
) -> None:
    checked = check_scheduler(file("v1", f"profiles:\n{entry}"))

    assert checked.profiles == (profile,)
    assert checked.scheduler_defaults["default-scheduler"] == profile.constraints
    assert checked.notices == tuple(NOTICE.format(line) for line in lines)
