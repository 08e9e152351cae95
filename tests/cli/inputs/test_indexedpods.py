"""The new pods of an Indexed Job differ where its constraints name the index."""

from typing import Any

import msgspec
import pytest

from tests.cli.inputs.targetcases import WEB, build
from webhook.cli.inputs.indexedpods import gather_indexed_pods
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.explain.newpods import NewPod
from webhook.explain.removal import RemovalOrder
from webhook.policy.kinds import JOB
from webhook.policy.placement.census import ObservedPod
from webhook.policy.podlabels import COMPLETION_INDEX


def subject(spec: Any) -> ExplainSubject:
    job = {"metadata": {"name": "web"}, "spec": {"template": {"spec": spec}}}
    return ExplainSubject(JOB, ("spec", "template"), "shop", job, exists=False)


def foresee(index: int) -> NewPod:
    situation = build("deploy/web", WEB).situation
    labels = {COMPLETION_INDEX: str(index)}
    return NewPod(msgspec.structs.replace(situation.pod, labels=labels), situation.spreads)


def observed(index: int, phase: str) -> ObservedPod:
    metadata = {"name": f"web-{index}-x", "labels": {COMPLETION_INDEX: str(index)}}
    value = {"metadata": metadata, "spec": {"nodeName": "n1"}, "status": {"phase": phase}}
    return msgspec.convert(value, ObservedPod)


def test_new_pods_get_the_first_indexes_that_are_free() -> None:
    named = subject({"topologySpreadConstraints": [{"matchLabelKeys": [COMPLETION_INDEX]}]})
    running = [observed(1, "Running"), observed(3, "Failed")]

    pods = gather_indexed_pods(named, running, frozenset({0}), foresee)

    assert pods is not None
    assert (pods.order, pods.find_surplus(0).pods) == (RemovalOrder.INDEX, ())
    upcoming = pods.find_new_pods(pods.find_surplus(1))
    follow = upcoming.follow(build("deploy/web", WEB).situation)
    assert [next(follow)[0] for _ in range(2)] == [2, 3]
    assert upcoming.is_parallel


@pytest.mark.parametrize("spec", [{}, {"containers": []}])
def test_pods_are_alike_if_nothing_names_the_index(spec: Any) -> None:
    assert gather_indexed_pods(subject(spec), [], frozenset(), foresee) is None
