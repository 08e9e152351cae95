from typing import Any

import msgspec
import pytest

from tests.build import kind_of, pod, spread, template, workload
from webhook.policy.kinds import BUILT_IN_TEMPLATES, POD
from webhook.policy.model import ZONE, GroupKind, PodTemplate
from webhook.policy.workloads import BUILT_IN_PATHS, Workload

KINDS = [kind for kind in BUILT_IN_TEMPLATES if kind != POD]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_template_is_found_in_every_kind(kind: GroupKind) -> None:
    found = template(workload(kind, spread()))

    assert found.labels == {"app": "web"}
    assert [constraint.topology_key for constraint in found.constraints] == [ZONE]


def test_a_pod_is_its_own_template() -> None:
    obj = pod(spread(), nodeName="node-1")
    found = template(obj)

    assert kind_of(obj) == POD
    assert found.metadata is not None
    assert found.metadata.name == "web-1"
    assert found.spec is not None
    assert found.spec.node_name == "node-1"


CRON_JOB = BUILT_IN_TEMPLATES[GroupKind("batch", "CronJob")]

NOWHERE: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a Deployment without a spec": ({}, ("spec", "template")),
    "a Deployment whose spec is null": ({"spec": None}, ("spec", "template")),
    "a Deployment without a template": ({"spec": {}}, ("spec", "template")),
    "a PodTemplate without a template": ({"template": None}, ("template",)),
    "a CronJob without a spec": ({}, CRON_JOB),
    "a CronJob without a job template": ({"spec": {}}, CRON_JOB),
    "a CronJob whose job has no spec": ({"spec": {"jobTemplate": {}}}, CRON_JOB),
    "a CronJob whose job has no template": ({"spec": {"jobTemplate": {"spec": {}}}}, CRON_JOB),
}


@pytest.mark.parametrize(("obj", "path"), NOWHERE.values(), ids=NOWHERE.keys())
def test_there_is_no_template_in(obj: dict[str, Any], path: tuple[str, ...]) -> None:
    assert msgspec.convert(obj, Workload).pod_template(path) is None


def test_an_empty_pod_is_a_template_with_nothing_in_it() -> None:
    assert msgspec.convert({}, Workload).pod_template(()) == PodTemplate()


@pytest.mark.parametrize("path", BUILT_IN_TEMPLATES.values())
def test_a_built_in_path_is_known(path: tuple[str, ...]) -> None:
    assert path in BUILT_IN_PATHS


def test_another_path_is_not() -> None:
    assert ("spec", "pod") not in BUILT_IN_PATHS
