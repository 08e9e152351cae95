from typing import Any

import msgspec
import pytest

from tests.audit import customs, world
from tests.cli import files
from webhook.audit.restore import list_objects
from webhook.audit.snapshot import Snapshot
from webhook.config.documents import check
from webhook.config.validation import read_document
from webhook.policy.model import GroupKind

FLEET = GroupKind("argoproj.io", "Rollout")
OBJECTS = (
    f"{world.EVERYTHING}---\n{files.SERVICE}"
    """\
---
apiVersion: v1
kind: ReplicationController
metadata: {name: old, namespace: shop}
spec: {replicas: 2, selector: {app: old}, template: {metadata: {labels: {app: old}}}}
---
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicyException
metadata: {name: legacy, namespace: shop}
spec: {rules: [TSC110], reason: old, selector: {}, expires: "2027-01-31T00:00:00Z"}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: shop}
spec: {jobTemplate: {spec: {parallelism: 2, template: {metadata: {labels: {app: nightly}}}}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: roll, namespace: shop}
spec: {selector: {matchLabels: {app: roll}}, workloadRef: {kind: Deployment, name: web}}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: llm, namespace: shop}
spec:
  replicas: 3
  leaderWorkerTemplate:
    size: 4
    leaderTemplate: {metadata: {labels: {role: leader}}}
    workerTemplate: {metadata: {labels: {role: worker}}}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: flat, namespace: shop}
spec: {replicas: 3, leaderWorkerTemplate: {size: 2, workerTemplate: {metadata: {}}}}
""" + customs.JOB_SET
)


def restored(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    found = list_objects(snapshot, {FLEET: ("spec", "selector")})
    return {f"{value['kind']}/{value['metadata']['name']}": value for value in found}


def numbers(snapshot: Snapshot) -> set[object]:
    """The numbers of the pods of all templates, of their groups, and of pods in these."""
    subjects = [item.subject for item in snapshot.workloads]
    return {(str(one), one.part, one.replicas, one.groups, one.members) for one in subjects}


def test_a_snapshot_of_the_restored_objects_is_the_same() -> None:
    before = world.gather(OBJECTS).snapshot
    values = restored(before).values()
    text = "\n---\n".join(msgspec.json.encode(value).decode() for value in values)

    after = world.gather(text).snapshot

    assert restored(after) == restored(before)
    assert (len(after.pods), len(after.nodes)) == (len(before.pods), len(before.nodes))
    assert after.exceptions == before.exceptions != []
    assert {str(item.subject) for item in after.workloads} == {
        str(item.subject) for item in before.workloads
    }
    assert numbers(after) == numbers(before)


SELECTORS = {
    "ReplicaSet/web-1": {"matchLabels": {"app": "web", "pod-template-hash": "h1"}},
    "ReplicationController/old": {"app": "old"},
    "Rollout/roll": {"matchLabels": {"app": "roll"}},
    "Service/web": {"app": "web"},
}


@pytest.mark.parametrize(("name", "selector"), SELECTORS.items(), ids=SELECTORS.keys())
def test_selectors_stand_where_their_kind_has_them(name: str, selector: dict[str, Any]) -> None:
    value = restored(world.gather(OBJECTS).snapshot)[name]

    held = value["spec"]["selector"]
    assert held.get("matchLabels", held) == selector.get("matchLabels", selector)


def test_replicas_stand_beside_the_template() -> None:
    found = restored(world.gather(OBJECTS).snapshot)

    assert found["Deployment/web"]["spec"]["replicas"] == 4
    assert found["CronJob/nightly"]["spec"]["jobTemplate"]["spec"]["parallelism"] == 2


def test_templates_and_lists_are_restored_where_they_were() -> None:
    text = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\npodTemplates:\n"
    text += "- {group: g, kind: K, path: 'spec.templates[*]'}\nconstraintLists:\n"
    text += "- {group: g, kind: L, path: 'spec.topologySpreadConstraints'}\n"
    configuration = check(read_document(text, "spread.yaml"), lambda _: "")
    listed = customs.CLUSTER.replace("postgresql.cnpg.io/v1", "g/v1").replace("Cluster", "L")
    objects = "{apiVersion: g/v1, kind: K, metadata: {name: k}, spec: {templates: [{}, {}]}}\n"
    before = world.gather(objects + listed, configuration=configuration).snapshot

    values = restored(before)

    assert [len(values["K/k"]["spec"]["templates"]), values["L/db"]["spec"].keys()] == [
        2,
        {"topologySpreadConstraints"},
    ]


@pytest.mark.parametrize("metadata", [{}, {"uid": "u1", "resourceVersion": "7"}], ids=str)
def test_a_pod_that_was_stored_still_shows_it(metadata: dict[str, str]) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "solo", **metadata}}

    value = restored(world.gather(msgspec.json.encode(pod).decode()).snapshot)["Pod/solo"]

    assert value["metadata"].keys() & {"uid", "resourceVersion"} == metadata.keys()
    assert "stored" not in value
