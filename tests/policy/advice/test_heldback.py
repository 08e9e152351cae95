from collections.abc import Mapping

import pytest

from tests.build import spread
from tests.policy.advice.subjects import of_revision, partitioned, subject, workload
from webhook.policy.advice.heldback import find_constraints
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import HOSTNAME

HASH = "controller-revision-hash"
LOOSE, HOST = spread(maxSkew=2), spread(topologyKey=HOSTNAME)
OLD = of_revision("old", "a1", "a2", "b1", constraints=(LOOSE,))

# subject, labels, maxSkew of the constraints
FOUND: dict[str, tuple[Subject, Mapping[str, str], list[int] | None]] = {
    "a pod that is held back": (partitioned(HOST, pods=[OLD]), {HASH: "old"}, [2]),
    "a pod that is not": (partitioned(HOST, pods=[OLD]), {HASH: "new"}, None),
    "a revision without pods": (partitioned(HOST, pods=[]), {HASH: "old"}, None),
    "one revision": (partitioned(HOST, pods=[OLD], updated="old"), {HASH: "old"}, None),
    "no partition": (subject(workload(HOST, kind=STATEFUL_SET)), {HASH: "old"}, None),
}


@pytest.mark.parametrize(("judged", "labels", "skews"), FOUND.values(), ids=FOUND.keys())
def test_constraints_of_pods_that_are_held_back(
    judged: Subject, labels: Mapping[str, str], skews: list[int] | None
) -> None:
    found = find_constraints(judged, labels)

    assert (found and [one.max_skew for one in found]) == skews
