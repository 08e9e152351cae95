import pytest

from tests.config.configs import (
    FILES,
    HEAD,
    SOFT,
    check,
    check_scheduler,
    errors_of,
    one_default,
    one_profile,
)
from webhook.errors import CombinedConfigError
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS, Merge, Profile
from webhook.policy.model import Constraint

SOFT_CONSTRAINT = Constraint(max_skew=1, topology_key="zone", when_unsatisfiable="ScheduleAnyway")

ERRORS = {
    "a file that does not exist": (
        one_profile("schedulerConfiguration: none.yaml"),
        (
            "5: profiles[0].schedulerConfiguration: "
            "'etc/none.yaml' cannot be read: No such file or directory"
        ),
    ),
    "a scheduler that the file does not have": (
        one_profile("match: {schedulerNames: [othr]}\n  schedulerConfiguration: two.yaml"),
        (
            "5: profiles[0].match.schedulerNames[0]: "
            "cannot be 'othr': did you mean other?; the scheduler configuration has no other"
        ),
    ),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_a_file_that_does_not_fit_its_profile_is_refused(text: str, message: str) -> None:
    assert errors_of(HEAD + text) == [f"etc/spread.yaml:{message}"]


REPEATED = "profiles[1].name: 'a' names an earlier profile too: write another name"
ABSENT = "'etc/none.yaml' cannot be read: No such file or directory"

# members of a configuration, all errors in it
STAGES: dict[str, tuple[str, list[str]]] = {
    "a value, a name and a file": (
        one_default("maxSkew: 0, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway")
        + "\n- name: a\n  schedulerConfiguration: none.yaml\n",
        ["6: profiles[0].defaultConstraints[0].maxSkew", f"8: {REPEATED}",
         f"9: profiles[1].schedulerConfiguration: {ABSENT}"],
    ),
    "a key, a name and an error in a file": (
        "mod: apply\n" + one_profile("defaultConstraints: []")
        + "- {name: a, schedulerConfiguration: bad.yaml}\n",
        ["3: mod: no such key", f"7: {REPEATED}", "3: defaultingType: Unsupported value"],
    ),
    "entries that cannot be read": (
        "profiles:\n- 1\n- {name: 2, schedulerConfiguration: [x]}\n- {schedulerConfiguration: 3}\n",
        ["4: profiles[0]: must be a mapping", "5: profiles[1].name: must be a text",
         "5: profiles[1].schedulerConfiguration: must be a text",
         "6: profiles[2].name: is missing",
         "6: profiles[2].schedulerConfiguration: must be a text"],
    ),
    "no list": ("profiles: {name: a}\n", ["3: profiles: must be a list"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), STAGES.values(), ids=STAGES.keys())
def test_names_and_files_are_checked_beside_other_errors(text: str, expected: list[str]) -> None:
    found = [error.partition(".yaml:")[2] for error in errors_of(HEAD + text)]

    assert [error[: len(part)] for error, part in zip(found, expected, strict=True)] == expected


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


def test_a_profile_may_have_constraints_of_its_own() -> None:
    (profile,) = check(one_profile(f"defaultConstraints: [{SOFT}]")).profiles

    assert profile == Profile(name="a", constraints=(SOFT_CONSTRAINT,))


def test_errors_of_a_file_are_reported_once_for_all_profiles_that_name_it() -> None:
    text = one_profile(
        "schedulerConfiguration: bad.yaml\n- name: b\n  schedulerConfiguration: bad.yaml"
    )

    (error,) = errors_of(HEAD + text)

    assert error.startswith("etc/bad.yaml:3: defaultingType: Unsupported value:")


def test_a_file_of_ours_is_no_file_of_kube_scheduler() -> None:
    with pytest.raises(CombinedConfigError) as caught:
        check_scheduler(HEAD)

    assert (
        str(caught.value) == "k.yaml:2: kind: is SpreadConfiguration: give the file with --config"
    )
    assert check_scheduler(FILES["etc/system.yaml"]).profiles[0].system
