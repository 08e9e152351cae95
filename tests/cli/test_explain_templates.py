"""A manifest is explained with the revision that applying it would give to its pods."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODE

NODES = NODE % ("a1", "a1", "a", "false") + NODE % ("b1", "b1", "b", "true")
CONSTRAINT = (
    "{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: %s, "
    "labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [%s]}"
)
TEMPLATE = """\
    metadata: {labels: {app: web%s}}
    spec:
      %s
      containers: [{name: c, image: "web:%s"}]
      topologySpreadConstraints: [%s]
"""
HASH, SET_HASH = "pod-template-hash", "controller-revision-hash"
WORKLOAD = f"""\
---
apiVersion: apps/v1
kind: %s
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
{TEMPLATE}"""
OWNER = "[{apiVersion: apps/v1, kind: %s, name: web, controller: true}]"
REPLICA_SET = f"""\
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{name: web-abc, namespace: shop, ownerReferences: {OWNER % "Deployment"}}}
spec:
  selector: {{matchLabels: {{app: web, {HASH}: abc}}}}
  template:
{TEMPLATE % (f", {HASH}: abc", "schedulerName: default-scheduler", "1", "%s")}"""
POD = """\
---
apiVersion: v1
kind: Pod
metadata:
  {name: %s, namespace: shop, labels: {app: web, %s: %s}, ownerReferences: %s}
spec:
  nodeName: a1
  containers: [{name: c, image: "web:1"}]
  topologySpreadConstraints: [%s]
"""
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


def hard(key: str) -> str:
    return CONSTRAINT % (HARD, key)


def deployment() -> str:
    """A Deployment with one pod; zone b has none, and is cordoned."""
    replica_set = "[{apiVersion: apps/v1, kind: ReplicaSet, name: web-abc, controller: true}]"
    return "".join(
        (
            NODES,
            WORKLOAD % ("Deployment", "", "restartPolicy: Always", "1", hard(HASH)),
            REPLICA_SET % hard(HASH),
            POD % ("web-abc-1", HASH, "abc", replica_set, hard(HASH)),
        )
    )


def stateful_set(image: str, constraint: str, partition: int) -> str:
    written = WORKLOAD % ("StatefulSet", "", "restartPolicy: Always", image, constraint)
    strategy = f"  updateStrategy: {{rollingUpdate: {{partition: {partition}}}}}\n"
    return written.replace("  template:\n", f"{strategy}  template:\n")


def pod_of_set(ordinal: int) -> str:
    return POD % (f"web-{ordinal}", SET_HASH, "web-r1", OWNER % "StatefulSet", hard(SET_HASH))


STATUS = "status: {currentRevision: web-r1, updateRevision: %s}\n"


def explain(run: Run, *arguments: str) -> Any:
    ran = run("explain", *arguments, "-n", "shop", "--facts", "facts.yaml", "-o", "json")
    return json.loads(ran.out)["explanation"], ran.code, ran.err


# kind, label of the revision; its value for an unchanged manifest
KINDS = {"Deployment": (HASH, "abc"), "StatefulSet": (SET_HASH, "web-r1")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("image", "line", "is_same"),
    [
        ("1", "dnsPolicy: ClusterFirst", True),
        ("2", "dnsPolicy: ClusterFirst", False),
        ("1", "dnsPolicy: None", False),
    ],
)
def test_a_manifest_is_the_present_revision_if_its_template_is_the_stored_one(
    folder: Path, run: Run, kind: str, image: str, line: str, *, is_same: bool
) -> None:
    key, value = KINDS[kind]
    stored = stateful_set("1", hard(SET_HASH), 0) + STATUS % "web-r1"
    facts = {"Deployment": deployment(), "StatefulSet": f"{NODES}{stored}{pod_of_set(0)}"}
    (folder / "facts.yaml").write_text(facts[kind])
    (folder / "git.yaml").write_text(WORKLOAD % (kind, "", line, image, hard(key)))

    explanation, code, err = explain(run, "-f", "git.yaml")

    (constraint,) = explanation["constraints"]
    hash_value = value if is_same else "hash"
    assert constraint["selector"] == f"app=web,{key}={hash_value}"
    assert (constraint["pods"], code, err) == ((1, 1, "") if is_same else (0, 0, ""))


CONTROLLER_REVISION = f"""\
---
apiVersion: apps/v1
kind: ControllerRevision
metadata: {{name: web-r1, namespace: shop, ownerReferences: {OWNER % "StatefulSet"}}}
revision: 1
data:
 spec:
  template:
    $patch: replace
{TEMPLATE % ("", "restartPolicy: Always", "1", hard(SET_HASH))}"""


@pytest.mark.parametrize("source", [CONTROLLER_REVISION, pod_of_set(1)], ids=["revision", "pod"])
def test_below_the_partition_the_constraints_of_the_old_revision_apply(
    folder: Path, run: Run, source: str
) -> None:
    soft = CONSTRAINT % (SOFT, SET_HASH)
    stored = stateful_set("2", soft, 2) + STATUS % "web-r2"
    (folder / "facts.yaml").write_text(NODES + stored + source)

    explanation, _, err = explain(run, "sts/web")

    (constraint,) = explanation["constraints"]
    assert (constraint["whenUnsatisfiable"], err) == (HARD, "")
    assert constraint["selector"] == f"app=web,{SET_HASH}=web-r1"


def test_an_unknown_template_of_the_old_revision_is_not_promised_a_place(
    folder: Path, run: Run
) -> None:
    stored = stateful_set("2", CONSTRAINT % (SOFT, SET_HASH), 2) + STATUS % "web-r2"
    (folder / "facts.yaml").write_text(NODES + stored)

    explanation, code, err = explain(run, "sts/web")
    ran = run("explain", "sts/web", "-n", "shop", "--facts", "facts.yaml", "--what-if")

    assert code == ran.code == 3
    assert explanation["unknownRevision"] == "web-r1"
    assert explanation["sentence"] == (
        "has the pod template of revision web-r1, which is not known; with the present template, "
        "it can be placed on 1 of 2 nodes"
    )
    assert err == ran.err
    assert err == (
        "error: StatefulSet shop/web: the pod template of revision web-r1, which new pods below "
        "the partition have, is not known: name the file of its ControllerRevision with --facts\n"
    )
    assert "note     the pod template of revision web-r1 is not known: new pods" in ran.out


def test_a_snapshot_has_only_what_placement_looks_at(folder: Path, run: Run) -> None:
    (folder / "all.yaml").write_text(deployment())
    run("audit", "-f", "all.yaml", "--save-snapshot", "facts.yaml")
    (folder / "git.yaml").write_text(WORKLOAD % ("Deployment", "", "", "1", hard(HASH)))

    explanation, _, err = explain(run, "-f", "git.yaml")

    assert explanation["constraints"][0]["selector"] == f"app=web,{HASH}=abc"
    assert err == ""
