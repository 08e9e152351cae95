"""What a user must know beside a plan."""

import pytest
from msgspec.structs import replace

from tests.policy.placement.clusters import node, spread_over
from tests.rebalance.situations import ABC, Situation, budget, web_pods, workload_pod
from webhook.policy.model import SCHEDULE_ANYWAY, LabelSelector
from webhook.policy.podlabels import TEMPLATE_HASH
from webhook.rebalance.notes import NoteKind
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod

UNEVEN = web_pods({"a1": 3, "b1": 1})
EVEN = web_pods({"a1": 1, "b1": 1})
SOFT = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)
FOREIGN = spread_over(label_selector=LabelSelector({"app": "api"}))
API = [workload_pod(f"api-{number}", "a1", labels={"app": "api"}) for number in range(2)]


def pending() -> WorkloadPod:
    return workload_pod("web-9", "", [spread_over()])


def revisions(*hashes: str, obstacle: EvictionObstacle | None = None) -> list[WorkloadPod]:
    return [
        workload_pod(
            f"web-{name}-{number}",
            "a1",
            [spread_over()],
            labels={"app": "web", TEMPLATE_HASH: name},
            obstacle=obstacle if number else None,
        )
        for number, name in enumerate(hashes)
    ]


REVISED = [
    workload_pod(
        f"web-{number}",
        at,
        [spread_over(label_selector=LabelSelector({"app": "web", TEMPLATE_HASH: revision}))],
        labels={"app": "web", TEMPLATE_HASH: revision},
    )
    for number, (revision, at) in enumerate([("x", "a1"), ("x", "a1"), ("y", "b1")])
]

NODES = [*ABC, replace(node("x1", "x"), labels={})]
EXHAUSTED = budget(1, 4, is_exhausted=True)

NOTES: dict[str, tuple[Situation, dict[NoteKind, tuple[str, ...]]]] = {
    "none": (Situation(UNEVEN), {}),
    "pending": (Situation([*UNEVEN, pending()]), {NoteKind.PENDING: ("shop/web-9",)}),
    "pending, but all hold": (
        Situation([*EVEN, pending()]),
        {NoteKind.PENDING: ("shop/web-9",)},
    ),
    "pending without constraints": (
        Situation([*EVEN, workload_pod("api-1", "", labels={"app": "api"})]),
        {},
    ),
    "fewer pods than replicas, but all hold": (
        Situation([replace(one, missing=1) for one in EVEN]),
        {NoteKind.MISSING: ("Deployment/web in shop",)},
    ),
    "counts other pods": (
        Situation([*web_pods({"a1": 1, "b1": 1}, spread_over(), FOREIGN), *API]),
        {NoteKind.FOREIGN: ("Deployment/web in shop",)},
    ),
    "a soft constraint over zones, the empty one of which is full": (
        Situation(web_pods({"a1": 3, "b1": 3}, SOFT), slots={"c1": 0}),
        {NoteKind.CLOSED: ("Deployment/web in shop (c)",)},
    ),
    "a soft constraint over zones, the empty one of which is full, that holds": (
        Situation(web_pods({"a1": 1, "b1": 1}, SOFT), slots={"c1": 0}),
        {},
    ),
    "no key": (
        Situation([*EVEN, workload_pod("web-9", "x1"), workload_pod("y", "x1", labels={})], NODES),
        {NoteKind.NO_KEY: ("shop/web-9",)},
    ),
    "rollout": (
        Situation(revisions("x", "y", "x")),
        {NoteKind.ROLLOUT: ("Deployment/web in shop",)},
    ),
    "a rollout of which one revision is uneven": (
        Situation(REVISED),
        {NoteKind.ROLLOUT: ("Deployment/web in shop",)},
    ),
    "one revision": (Situation(revisions("x", "x")), {}),
    "the last pod of a rollout": (
        Situation(revisions("x", "y", obstacle=EvictionObstacle.TERMINATING)),
        {},
    ),
    "groups, each with revisions of its own": (
        Situation(revisions("x", "y", obstacle=EvictionObstacle.GROUP)),
        {},
    ),
    "templates": (
        Situation(
            [
                *(replace(one, differences=("host port 80",)) for one in UNEVEN[:2]),
                *(replace(one, differences=("volume data",)) for one in UNEVEN[2:]),
            ]
        ),
        {NoteKind.TEMPLATE: ("Deployment/web in shop (host port 80, volume data)",)},
    ),
    "a template of pods that are even": (
        Situation([replace(one, differences=("host port 80",)) for one in EVEN]),
        {},
    ),
    "preferred affinity": (
        Situation(web_pods({"a1": 3, "b1": 1}, SOFT, has_preferences=True)),
        {NoteKind.PREFERENCE: ("Deployment/web in shop",)},
    ),
    "preferred affinity of pods with a hard constraint": (
        Situation(web_pods({"a1": 3, "b1": 1}, has_preferences=True)),
        {},
    ),
    "fewer pods than replicas": (
        Situation([replace(one, missing=1) for one in UNEVEN]),
        {NoteKind.MISSING: ("Deployment/web in shop",)},
    ),
    "more pods than replicas": (
        Situation([replace(one, missing=-1) for one in UNEVEN]),
        {NoteKind.SURPLUS: ("Deployment/web in shop",)},
    ),
    "status of a budget": (
        Situation(UNEVEN, budgets=[EXHAUSTED]),
        {NoteKind.BUDGET_STATUS: ("shop/web-1",)},
    ),
    "status of another budget": (
        Situation(UNEVEN, budgets=[budget(1, 4, "api", is_exhausted=True)]),
        {},
    ),
    "status and spec": (Situation(UNEVEN, budgets=[budget(4, 4, is_exhausted=True)]), {}),
}


@pytest.mark.parametrize(("situation", "notes"), NOTES.values(), ids=NOTES)
def test_notes(situation: Situation, notes: dict[NoteKind, tuple[str, ...]]) -> None:
    assert {note.kind: note.names for note in situation.plan().notes} == notes
