"""``explain`` applies all filters to files and to a live cluster, also for what-ifs."""

from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli.conftest import Run
from webhook.cli.inputs.schedulingscope import NODE_RESOURCES, NOMINATED, OTHER_PODS

CLUSTER = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1, pool: small}}
status: {allocatable: {cpu: "4", pods: "10"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, resources: {requests: {cpu: 1500m}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: ops, labels: {app: other}}
spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}
"""
FULL = "0/1 nodes are available: 1 Insufficient cpu."


def test_pods_of_other_namespaces_take_resources(folder: Path, run: Run) -> None:
    (folder / "all.yaml").write_text(CLUSTER)

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "all.yaml", "-o", "json")

    (answer,) = ran.documents
    assert (ran.code, answer["explanation"]["failedScheduling"]) == (1, FULL)
    assert [change["sentence"] for change in answer["explanation"]["changes"]] == [
        "lower the request of the whole pod for cpu from 1500m to 1", "add 1 node like n1"
    ]  # fmt: skip


def test_a_what_if_places_replicas_until_resources_are_used_up(folder: Path, run: Run) -> None:
    (folder / "all.yaml").write_text(CLUSTER)
    options = ("--add-nodes", "pool=small:2", "--scale", "5", "-o", "json")

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "all.yaml", *options)

    (answer,) = ran.documents
    what_if = answer["whatIf"]
    assert what_if["sentence"].startswith("if you add 2 nodes like n1 with pool=small, scale to 5 ")
    assert (ran.code, what_if["placed"], what_if["pending"]) == (1, {"new-1": 2, "new-2": 2}, 1)
    assert answer["explanation"]["failedScheduling"] == FULL.replace("0/1", "0/3").replace(
        "1 I", "3 I"
    )


DAEMON = CLUSTER.replace(
    "labels: {app: other}",
    "ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: other, controller: true}]",
)


def test_new_nodes_have_pods_of_daemon_sets(folder: Path, run: Run) -> None:
    """The pod of the DaemonSet takes 3 of 4 CPUs of every node, so that 1500m fit on none."""
    (folder / "all.yaml").write_text(DAEMON)
    options = ("--add-nodes", "pool=small:2", "--scale", "2", "-o", "json")

    plain = run("explain", "deploy/web", "-n", "shop", "--facts", "all.yaml", "-o", "json")
    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "all.yaml", *options)

    assert [change["sentence"] for change in plain.documents[0]["explanation"]["changes"]] == [
        "lower the request of the whole pod for cpu from 1500m to 1"
    ]
    what_if = ran.documents[0]["whatIf"]
    assert (ran.code, what_if["placed"], what_if["pending"]) == (1, {}, 2)


def test_what_may_not_be_listed_is_said_and_is_no_error(
    folder: Path, run: Run, api: ApiServer
) -> None:
    api.add(*yaml.safe_load_all(CLUSTER))
    api.answers["GET /api/v1/pods"] = refuse("pods is forbidden")

    ran = run("explain", "deploy/web", "-n", "shop", "--kubeconfig", "kubeconfig")

    assert (ran.code, ran.err) == (0, "")
    assert OTHER_PODS in ran.out.splitlines()[-1]


@pytest.mark.parametrize("member", ["schedulerName: volcano", "schedulingGates: [{name: x}]"])
def test_a_pod_that_kube_scheduler_does_not_filter_has_no_event(
    member: str, folder: Path, run: Run
) -> None:
    (folder / "all.yaml").write_text(
        CLUSTER.replace("spec: {containers", f"spec: {{{member}, containers", 1)
    )

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "all.yaml")

    assert ran.code == 1
    assert "Insufficient cpu" in ran.out
    assert "FailedScheduling" not in ran.out


def test_a_malformed_quantity_of_a_template_is_an_error(folder: Path, run: Run) -> None:
    (folder / "all.yaml").write_text(CLUSTER.replace("cpu: 1500m", "memory: 1.5GiB"))

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "all.yaml")

    assert (ran.code, ran.out) == (3, "")
    assert ran.err == (
        "error: Deployment shop/web: spec.template.spec.containers[0].resources.requests.memory: "
        "expected a quantity, got '1.5GiB': write 1.5Gi\n"
    )


def test_a_malformed_quantity_of_a_node_is_reported(folder: Path, run: Run) -> None:
    (folder / "all.yaml").write_text(CLUSTER.replace('cpu: "4"', "cpu: -4"))

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "all.yaml")

    assert ran.code == 3
    assert "Node/n1: status.allocatable.cpu: expected a quantity of 0 or more, got -4" in ran.err
    assert NODE_RESOURCES in ran.out


WAITING = """\
---
apiVersion: v1
kind: Pod
metadata: {name: first, namespace: %s, labels: {app: first}}
spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
status: {phase: Pending%s}
"""

# namespace, status and further objects of a pod that waits, subject, free CPU that is suggested
NOMINATIONS = {
    "a pod that is nominated": ("ops", ", nominatedNodeName: n1", "deploy/web", None),
    "a pod that is not": ("ops", "", "deploy/web", "1"),
    "the pod itself": ("shop", ", nominatedNodeName: n1", "pod/first", "fits"),
}


@pytest.mark.parametrize(
    ("namespace", "status", "subject", "free"), NOMINATIONS.values(), ids=NOMINATIONS.keys()
)
def test_pods_that_are_nominated_for_a_node_keep_their_room(
    namespace: str, status: str, subject: str, folder: Path, run: Run, *, free: str | None
) -> None:
    (folder / "all.yaml").write_text(CLUSTER + WAITING % (namespace, status))

    ran = run("explain", subject, "-n", "shop", "--facts", "all.yaml")

    assert (ran.code == 0) is (free == "fits")
    assert ("Insufficient cpu, with 1 nominated pod" in ran.out) is (free is None)
    assert ("lower the request of the whole pod for cpu from 1500m to 1 " in ran.out) is (
        free == "1"
    )
    assert NOMINATED not in ran.out


def test_pods_that_are_nominated_are_named_if_the_priority_is_not_known(
    folder: Path, run: Run
) -> None:
    waiting = WAITING % ("ops", ", nominatedNodeName: n1")
    template = "spec: {priorityClassName: high, containers"
    (folder / "all.yaml").write_text(CLUSTER.replace("spec: {containers", template, 1) + waiting)

    assert NOMINATED in run("explain", "deploy/web", "-n", "shop", "--facts", "all.yaml").out
