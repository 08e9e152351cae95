import pytest
from msgspec.structs import replace

from tests.build import Json, default, gates, owned_by, pod, policy, profile, spread
from tests.policy.advice.subjects import (
    admission,
    audit,
    check_rule,
    deployed,
    running,
    subject,
)
from webhook.policy.advice.defaulting import completes_selectors
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.inject import inject
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.model import PodTemplate
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.selectors import merge_match_label_keys

NONE = policy()
GIVING = policy(profile(constraints=(default(),)))
RECOMMENDING = replace(GIVING, mode=Mode.RECOMMEND)
WEB = {"matchLabels": {"app": "web"}}
NODES = "kubernetes.io/hostname"


WITH_KEYS = policy(profile(constraints=(default(match_label_keys=("rev",)),)))
LABELS = {"app": "web", "rev": "1"}


def injected(config: Policy, labels: Json, *, merged: bool = False) -> PodTemplate:
    """Make a pod that got its defaults, as the API server stores it."""
    raw = pod(labels=labels, owner=owned_by())
    bare = subject(raw).pod
    context = admission(config=config, services={"app": "web"})
    given = inject(bare, "shop", config, context.facts)
    constraints = tuple(
        replace(
            violation.constraint,
            label_selector=subject(pod(spread())).constraints[0].label_selector,
        )
        for violation in given.entries
    )
    assert bare.metadata is not None
    assert bare.spec is not None
    annotations = {"evenspread.io/defaults": given.annotation}
    stored = merge_match_label_keys(constraints, labels) if merged else constraints
    return PodTemplate(
        replace(bare.metadata, annotations=annotations),
        replace(bare.spec, topology_spread_constraints=stored, node_name="a1"),
    )


BARE_POD = running("a1", "b1")
OWN = running("a1", constraints=(spread(),))
GIVEN = RunningPods(injected(GIVING, LABELS), {"a1": 3})
MERGED = RunningPods(injected(WITH_KEYS, LABELS, merged=True), {"a1": 3})
UNMERGED = RunningPods(injected(WITH_KEYS, LABELS), {"a1": 3})
WITHOUT_MERGE = replace(
    WITH_KEYS, gates=gates(MatchLabelKeysInPodTopologySpreadSelectorMerge=False)
)

# running pods, policy, Services, how many lack what
LACKING: dict[str, tuple[list[RunningPods], Policy, Json, str]] = {
    "pods older than the profile": ([BARE_POD], GIVING, {"app": "web"}, "2 of 2"),
    "some of them": ([BARE_POD, GIVEN], GIVING, {"app": "web"}, "2 of 5"),
    "pods older than a Service": ([GIVEN], GIVING, {"app": "web", "rev": "1"}, "3 of 3"),
    "pods that have what they should": ([GIVEN], GIVING, {"app": "web"}, ""),
    "the API server merged their keys": ([MERGED], WITH_KEYS, {"app": "web"}, ""),
    "the API server does not merge keys": ([UNMERGED], WITHOUT_MERGE, {"app": "web"}, ""),
    "it merges, but did not when they came": ([UNMERGED], WITH_KEYS, {"app": "web"}, ""),
    "pods with constraints of their own": ([OWN], GIVING, {"app": "web"}, ""),
    "one whose selector is null": (
        [running("a1", constraints=(spread(labelSelector=None, matchLabelKeys=["app"]),))],
        GIVING, {"app": "web"}, "",
    ),
    "no profile": ([BARE_POD], NONE, {"app": "web"}, ""),
    "a profile that is gone": ([GIVEN], NONE, {"app": "web"}, ""),
    "nothing to select them by": ([BARE_POD], GIVING, {"app": "shop"}, ""),
    "no pods": ([], GIVING, {"app": "web"}, ""),
    "recommend mode": ([BARE_POD], RECOMMENDING, {"app": "web"}, ""),
    "a namespace that gets no defaults": (
        [BARE_POD], replace(GIVING, exempt_namespaces=frozenset({"shop"})), {"app": "web"}, ""
    ),
    "pods that want no defaults": (
        [running("a1", labels={"app": "web", "evenspread.io/skip": "true"})],
        GIVING, {"app": "web"}, "",
    ),
    "pods without a specification": (
        [RunningPods(PodTemplate(), {"": 1})], GIVING, {"app": "web"}, ""
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("pods", "config", "services", "lacking"), LACKING.values(), ids=LACKING.keys()
)
def test_pods_that_lack_their_defaults(
    pods: list[RunningPods], config: Policy, services: Json, lacking: str
) -> None:
    judged = replace(deployed(), running=tuple(pods))

    violations = check_rule("TSC115", judged, audit(pods=pods, config=config, services=services))

    expected = [f"{lacking} pods lack the defaults of profile cluster"] if lacking else []
    assert [violation.brief for violation in violations] == expected


NULL = spread(labelSelector=None)
COMPLETING = policy(profile(constraints=(default(),), complete_selectors=True))

COMPLETED: dict[str, tuple[Subject, Policy, bool]] = {
    "a profile completes it": (deployed(NULL), COMPLETING, True),
    "a profile leaves it": (deployed(NULL), GIVING, False),
    "no profile": (deployed(NULL), NONE, False),
    "recommend mode": (deployed(NULL), replace(COMPLETING, mode=Mode.RECOMMEND), False),
    "a pod that has its node": (subject(pod(NULL, nodeName="a1")), COMPLETING, False),
    "nothing to complete it by": (subject(pod(NULL)), COMPLETING, False),
}


@pytest.mark.parametrize(("judged", "config", "expected"), COMPLETED.values(), ids=COMPLETED.keys())
def test_whether_selectors_will_be_completed(
    judged: Subject, config: Policy, expected: bool
) -> None:
    assert completes_selectors(judged, admission(config=config)) is expected


def test_selectors_of_exempt_workloads_will_not_be_completed() -> None:
    exempt = PolicyException(namespace="shop", name="a", reason="b", defaults=True)
    context = admission(config=COMPLETING, excepted=[exempt])

    assert completes_selectors(deployed(NULL), admission(config=COMPLETING))
    assert not completes_selectors(deployed(NULL), context)
