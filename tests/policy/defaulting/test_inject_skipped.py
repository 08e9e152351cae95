"""Which pods get no defaults and why, and whose defaults the others get."""

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
    SkipReason,
    inject,
    is_mirror,
    profile_of,
    reason_to_leave_alone,
)
from webhook.policy.defaulting.profiles import HOSTNAME, Policy, Profile
from webhook.policy.model import PodTemplate

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
        (replace(FIRST, namespace_selector=selector()), SECOND),
        FakeFacts(),
        "second",
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


def test_a_reason_is_a_label_of_a_metric() -> None:
    assert [*SkipReason] == [
        "", "gate-off", "no-spec", "mirror-pod", "bound", "exempt-namespace", "skip-label",
        "no-profile", "own-constraints", "nothing-to-add", "no-selector",
    ]  # fmt: skip
