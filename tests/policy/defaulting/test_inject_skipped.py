"""Which pods get no defaults and why, and whose defaults the others get."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import (
    NAMESPACE,
    FakeFacts,
    gates,
    pod,
    policy,
    profile,
    selector,
    spread,
    template,
)
from tests.policy.situations import ADDING, DEFAULTS, SYSTEM, WEB
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.inject import (
    SKIP_LABEL,
    Injection,
    SkipReason,
    inject,
    is_excepted,
    is_mirror,
    profile_of,
    reason_to_leave_alone,
)
from webhook.policy.defaulting.profiles import Policy, Profile, ScaleDown
from webhook.policy.model import HOSTNAME, PodTemplate
from webhook.policy.policyexceptions import PolicyException

LEGACY = PolicyException(namespace=NAMESPACE, name="legacy", reason="old", defaults=True)
EXEMPT = FakeFacts(services_of=WEB.services_of, excepted={NAMESPACE: [LEGACY]})

SKIPPED: dict[str, tuple[PodTemplate, Policy, FakeFacts, SkipReason]] = {
    "nothing stands in the way": (template(pod()), DEFAULTS, WEB, SkipReason.NONE),
    "our gate is off": (
        template(pod()),
        policy(profile(), gates=gates(EvenspreadDefaults=False)),
        WEB,
        SkipReason.GATE_OFF,
    ),
    "there are no constraints at all": (
        template(pod()),
        policy(profile(), gates=gates(EvenPodsSpread=False)),
        WEB,
        SkipReason.GATE_OFF,
    ),
    "an exception of its namespace": (template(pod()), DEFAULTS, EXEMPT, SkipReason.EXCEPTION),
    "a profile that allows no exception": (
        template(pod()),
        policy(profile(allows_exceptions=False)),
        EXEMPT,
        SkipReason.NONE,
    ),
    "the System defaults do not exist yet": (
        template(pod()),
        policy(SYSTEM, gates=gates(Version(1, 19))),
        WEB,
        SkipReason.GATE_OFF,
    ),
    "a profile of the user needs no System defaults": (
        template(pod()),
        policy(profile(), gates=gates(Version(1, 19))),
        WEB,
        SkipReason.NONE,
    ),
    "the System defaults exist": (
        template(pod()),
        policy(SYSTEM, gates=gates(Version(1, 20))),
        WEB,
        SkipReason.NONE,
    ),
    "the Namespace is exempt": (
        template(pod()),
        policy(profile(), exempt_namespaces=frozenset({NAMESPACE})),
        WEB,
        SkipReason.EXEMPT_NAMESPACE,
    ),
    "there is no specification": (
        replace(template(pod()), spec=None),
        DEFAULTS,
        WEB,
        SkipReason.NO_SPEC,
    ),
    "there is no metadata": (
        replace(template(pod()), metadata=None),
        DEFAULTS,
        WEB,
        SkipReason.NO_SPEC,
    ),
    "the kubelet made the pod": (
        template(pod(annotations={"kubernetes.io/config.mirror": ""})),
        DEFAULTS,
        WEB,
        SkipReason.MIRROR_POD,
    ),
    "the pod is bound": (template(pod(nodeName="n")), DEFAULTS, WEB, SkipReason.BOUND),
    "the pod requires it": (
        template(pod(labels={"app": "web", "evenspread.io/skip": "true"})),
        DEFAULTS,
        WEB,
        SkipReason.SKIP_LABEL,
    ),
    "the pod requires the contrary": (
        template(pod(labels={"app": "web", "evenspread.io/skip": "false"})),
        DEFAULTS,
        WEB,
        SkipReason.NONE,
    ),
    "no profile fits": (template(pod(schedulerName="other")), DEFAULTS, WEB, SkipReason.NO_PROFILE),
    "the pod has its own": (template(pod(spread())), DEFAULTS, WEB, SkipReason.OWN_CONSTRAINTS),
    "the pod mentions every key": (
        template(pod(spread(), spread(topologyKey=HOSTNAME))),
        ADDING,
        WEB,
        SkipReason.OWN_CONSTRAINTS,
    ),
    "the profile is empty": (
        template(pod()),
        policy(profile(constraints=())),
        WEB,
        SkipReason.NOTHING_TO_ADD,
    ),
    "nothing selects the pod": (template(pod()), DEFAULTS, FakeFacts(), SkipReason.NO_SELECTOR),
}


@pytest.mark.parametrize(
    ("created", "in_force", "known", "skip"), SKIPPED.values(), ids=SKIPPED.keys()
)
def test_a_pod_gets_no_defaults_if(
    created: PodTemplate, in_force: Policy, known: FakeFacts, skip: SkipReason
) -> None:
    injection = inject(created, NAMESPACE, in_force, known)

    assert injection.skip is skip
    assert bool(injection.entries) == bool(injection.annotation) == (skip is SkipReason.NONE)
    assert injection.previous == {}


def test_the_reason_is_known_without_a_profile() -> None:
    assert reason_to_leave_alone(template(pod()), NAMESPACE, policy()) is SkipReason.NONE


def test_a_pod_that_no_profile_fits_names_none() -> None:
    other = template(pod(schedulerName="other"))

    assert inject(other, NAMESPACE, DEFAULTS, WEB).profile == ""


def test_a_mirror_pod_is_one_by_its_annotation() -> None:
    mirror = template(pod(annotations={"kubernetes.io/config.mirror": ""}))

    assert is_mirror(mirror)
    assert not is_mirror(template(pod()))
    assert not is_mirror(replace(mirror, metadata=None))


FIRST, SECOND = profile(name="first"), profile(name="second")

CHOSEN: dict[str, tuple[tuple[Profile, ...], FakeFacts, str | None]] = {
    "the first that fits": ((FIRST, SECOND), FakeFacts(), "first"),
    "the next, if it does not": (
        (replace(FIRST, object_selector=selector(app="db")), SECOND),
        FakeFacts(),
        "second",
    ),
    "the next, if the Namespace is not known": (
        (replace(FIRST, namespace_selector=selector(tier="prod")), SECOND),
        FakeFacts(),
        "second",
    ),
    "the first, if it is for all Namespaces": (
        (replace(FIRST, namespace_selector=selector()), SECOND),
        FakeFacts(),
        "first",
    ),
    "the first, if the Namespace has the labels": (
        (replace(FIRST, namespace_selector=selector(tier="prod")), SECOND),
        FakeFacts(namespaces={NAMESPACE: {"tier": "prod"}}),
        "first",
    ),
    "none": ((replace(FIRST, owner_kinds=frozenset({"Job"})),), FakeFacts(), None),
}


@pytest.mark.parametrize(("profiles", "known", "name"), CHOSEN.values(), ids=CHOSEN.keys())
def test_the_profile_is(profiles: tuple[Profile, ...], known: FakeFacts, name: str | None) -> None:
    found = profile_of(template(pod()), NAMESPACE, policy(*profiles), known)

    assert (found.name if found else None) == name


def test_an_injection_names_the_exception_that_is_why() -> None:
    exempt = inject(template(pod()), NAMESPACE, DEFAULTS, EXEMPT)

    assert (exempt.skip, exempt.exception) == (SkipReason.EXCEPTION, "legacy")
    assert inject(template(pod()), NAMESPACE, DEFAULTS, WEB).exception == ""
    for known, expected in ((EXEMPT, True), (WEB, False)):
        assert is_excepted(template(pod()), NAMESPACE, profile(), known) is expected


def test_a_reason_is_a_label_of_a_metric() -> None:
    assert [*SkipReason] == [
        "", "gate-off", "no-spec", "mirror-pod", "bound", "exempt-namespace", "skip-label",
        "no-profile", "exception", "gang", "own-constraints", "nothing-to-add", "no-selector",
    ]  # fmt: skip


KEEPING_PROFILE = profile(scale_down=ScaleDown.KEEP_SPREAD)
KEEPING = policy(KEEPING_PROFILE)

# pod, policy, whether it is ranked
RANKED: dict[str, tuple[PodTemplate, Policy, bool]] = {
    "it gets defaults": (template(pod()), KEEPING, True),
    "it has its own": (template(pod(spread())), KEEPING, True),
    "it has its own, and no defaults exist yet": (
        template(pod(spread())),
        policy(replace(SYSTEM, scale_down=ScaleDown.KEEP_SPREAD), gates=gates(Version(1, 19))),
        True,
    ),
    "it has none": (template(pod()), policy(replace(KEEPING_PROFILE, constraints=())), False),
    "it skips evenspread": (template(pod(spread(), labels={SKIP_LABEL: "true"})), KEEPING, False),
    "its profile keeps nothing": (template(pod(spread())), DEFAULTS, False),
}


@pytest.mark.parametrize(("created", "in_force", "ranks"), RANKED.values(), ids=RANKED.keys())
def test_a_profile_ranks_pods_with_constraints(
    created: PodTemplate, in_force: Policy, ranks: bool
) -> None:
    assert inject(created, NAMESPACE, in_force, WEB).ranks(created.constraints) is ranks


def test_defaults_that_are_taken_back_are_no_constraints() -> None:
    injection = Injection(skip=SkipReason.NO_SELECTOR, keeps_spread=True, previous={0: "x"})

    assert not injection.ranks(template(pod(spread())).constraints)
    assert injection.ranks(template(pod(spread(), spread())).constraints)


GROUP = {"podGroupName": "workers"}
REFERENCE = {"name": "train", "podGroup": "workers"}

# specification, policy, reason
GANGS: dict[str, tuple[dict[str, Any], Policy, SkipReason]] = {
    "it is of a gang": ({"schedulingGroup": GROUP}, DEFAULTS, SkipReason.GANG),
    "it is of a gang of Kubernetes 1.35": ({"workloadRef": REFERENCE}, DEFAULTS, SkipReason.GANG),
    "its group is empty": ({"schedulingGroup": {}}, DEFAULTS, SkipReason.GANG),
    "its group is null": ({"schedulingGroup": None}, DEFAULTS, SkipReason.NONE),
    "its reference is null": ({"workloadRef": None}, DEFAULTS, SkipReason.NONE),
    "its profile includes gangs": (
        {"schedulingGroup": GROUP},
        policy(profile(gangs=True)),
        SkipReason.NONE,
    ),
    "no profile fits": ({"schedulingGroup": GROUP}, policy(), SkipReason.NO_PROFILE),
}


@pytest.mark.parametrize(("spec", "in_force", "reason"), GANGS.values(), ids=GANGS.keys())
def test_a_gang_gets_no_defaults_unless_its_profile_includes_gangs(
    spec: dict[str, Any], in_force: Policy, reason: SkipReason
) -> None:
    assert inject(template(pod(**spec)), NAMESPACE, in_force, WEB).skip is reason


def test_a_gang_with_constraints_of_its_own_has_that_reason() -> None:
    created = template(pod(spread(), schedulingGroup=GROUP))

    assert inject(created, NAMESPACE, DEFAULTS, WEB).skip is SkipReason.OWN_CONSTRAINTS
    assert inject(created, NAMESPACE, ADDING, WEB).skip is SkipReason.GANG
    assert inject(created, NAMESPACE, KEEPING, WEB).ranks(created.constraints)
