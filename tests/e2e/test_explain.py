"""
``explain`` against the real kube-scheduler: its prediction for a pod is what the scheduler does.

The scheduler scores by PodTopologySpread alone, so that the best nodes are those it chooses from.
Pods come one at a time, and each is explained before it is created, from the state that the
scheduler sees. Every change that is suggested for a Pending pod is made by itself, and undone.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import pytest

from tests.controlplane import kubelet
from tests.controlplane.api import Json
from tests.controlplane.assets import chosen_version
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import rounds
from webhook.__main__ import main

PODS = rounds(12, 200)  # of each fate, bound and Pending, at least
MADE = rounds(4, 1)  # of how many Pending pods one has its changes made
PER_ROUND = 12  # pods before the nodes are thrown anew
MOST_ROUNDS = 200

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
GPU = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}

SPREADING_ALONE = {
    "schedulerName": "default-scheduler",
    "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "PodTopologySpread"}]}},
}

# a part of kube-scheduler's words, and of ours
REASONS = (
    ("(missing required label)", "lack a topology key"),
    ("didn't match pod topology spread constraints", "> maxSkew"),
    ("were unschedulable", "were unschedulable"),
    ("had untolerated taint", "had untolerated taint"),
    ("didn't match Pod's node affinity/selector", "didn't match Pod's node affinity/selector"),
)


def change_constraint(constraint: Json, edit: Json) -> None:
    match edit["edit"]:
        case "raiseMaxSkew":
            constraint["maxSkew"] = edit["after"]
        case "lowerMinDomains":
            constraint["minDomains"] = edit["after"]
        case "honorPolicy":
            constraint[edit["policy"]] = "Honor"
        case "correctKey":
            constraint["topologyKey"] = edit["after"]
        case _:
            constraint["whenUnsatisfiable"] = "ScheduleAnyway"
            constraint.pop("minDomains", None)


class RandomCluster:
    """
    A control plane without controllers, whose nodes and pods are random.

    Attributes:
        namespace: Of the pods of this round.
        nodes: Of this round, as created.
    """

    def __init__(self, plane: ControlPlane, rng: random.Random, folder: Path) -> None:
        self.api = plane.api
        self.rng = rng
        self.namespace = ""
        self.nodes: list[Json] = []
        self._plane = plane
        self._manifest = folder / "pod.json"
        self._changes = 0

    def throw_nodes(self) -> None:
        """Begin a round: other nodes, another namespace, a Service for half of the pods."""
        for node in self.nodes:
            self.api.delete(node)
        self._changes += 1
        self.namespace = self._plane.create_namespace()
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "web", "namespace": self.namespace},
                "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
            }
        )
        self.nodes = []
        for number in range(self.rng.randint(3, 8)):
            labels = {"disk": self.rng.choice(["ssd", "hdd"])}
            if self.rng.random() < 0.85:
                labels[ZONE] = self.rng.choice("abc")
            if self.rng.random() < 0.7:
                labels["rack"] = self.rng.choice("rs")
            self.join(f"n{self._changes}-{number}", labels)
            taints = [GPU] if self.rng.random() < 0.15 else []
            if self.rng.random() < 0.2:
                self.settle(self.nodes[-1], {"unschedulable": True, "taints": [CORDON, *taints]})
            elif taints:
                self.settle(self.nodes[-1], {"taints": taints})

    def join(self, name: str, labels: Mapping[str, str]) -> None:
        self.nodes.append(kubelet.join(self.api, name, labels))
        self.settle(self.nodes[-1], {})

    def settle(
        self,
        node: Json,
        spec: Mapping[str, object],
        labels: Mapping[str, str | None] | None = None,
    ) -> None:
        """Change a node, and wait until the scheduler has seen that: a probe goes there."""
        self._changes += 1
        mark = {"change": f"{self._changes}"}
        metadata = {"labels": {**(labels or {}), **mark}}
        self.api.merge(node, {"metadata": metadata, "spec": dict(spec)})
        probe = self.pod(f"probe-{self._changes}", {})
        probe["metadata"]["namespace"] = "default"
        probe["spec"] |= {"nodeSelector": mark, "tolerations": [{"operator": "Exists"}]}
        self.api.create(probe)
        until(lambda: self.node_of(probe), "a probe to be bound")
        self.api.delete(probe)

    def pod(self, name: str, labels: Mapping[str, str]) -> Json:
        metadata = {"name": name, "namespace": self.namespace, "labels": dict(labels)}
        containers = [{"name": "main", "image": "none"}]
        spec = {"containers": containers, "automountServiceAccountToken": False}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def throw_pod(self, name: str) -> Json:
        rng = self.rng
        pod = self.pod(name, {"app": rng.choice(["web", "api"]), "rev": rng.choice("12")})
        keys = rng.sample([ZONE, HOSTNAME, "rack"], rng.choice([0, 1, 2, 2, 2, 3]))
        pod["spec"]["topologySpreadConstraints"] = [self._constraint(key) for key in keys]
        if rng.random() < 0.3:
            pod["spec"]["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
        if rng.random() < 0.2:
            pod["spec"]["nodeSelector"] = {"disk": "ssd"}
        return pod

    def _constraint(self, key: str) -> Json:
        rng = self.rng
        hard = rng.random() < 0.85
        constraint: Json = {
            "maxSkew": rng.choice([1, 1, 1, 2]),
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": rng.choice(["web", "api"])}},
        }
        if hard and rng.random() < 0.6:
            constraint["minDomains"] = rng.randint(1, 4)
        if rng.random() < 0.3:
            constraint["nodeTaintsPolicy"] = rng.choice(["Honor", "Ignore"])
        if rng.random() < 0.2:
            constraint["nodeAffinityPolicy"] = "Ignore"
        if rng.random() < 0.2:
            constraint["matchLabelKeys"] = ["rev"]
        return constraint

    def explain(self, capsys: pytest.CaptureFixture[str], *subject: str) -> Json:
        kubeconfig = str(self._plane.apiserver.kubeconfig)
        options = ["-n", self.namespace, "--kubeconfig", kubeconfig, "-o", "json"]
        version = chosen_version(os.environ)
        code = main(["explain", *subject, *options, "--kube-version", version])
        out, err = capsys.readouterr()
        assert err == ""
        answer: Json = json.loads(out)["explanation"]
        assert code == (not answer["placeable"] and not answer["runsOn"])
        return answer

    def explain_manifest(self, capsys: pytest.CaptureFixture[str], pod: Json) -> Json:
        self._manifest.write_text(json.dumps(pod))
        return self.explain(capsys, "-f", str(self._manifest))

    def node_of(self, pod: Json) -> str:
        return str(self.api.read(pod)["spec"].get("nodeName", ""))

    def fate(self, pod: Json) -> tuple[str, str]:
        """The node that a new pod is bound to, or why there is none."""
        self.api.create(pod)

        def decided() -> tuple[str, str] | None:
            seen = self.api.read(pod)
            for condition in seen.get("status", {}).get("conditions", ()):
                if condition["type"] == "PodScheduled" and condition["status"] == "False":
                    return "", str(condition["message"])
            node = seen["spec"].get("nodeName", "")
            return (node, "") if node else None

        return until(decided, "the scheduler to decide")

    @contextmanager
    def carried_out(self, edits: list[Json], pod: Json) -> Iterator[None]:
        """Do in the cluster, and in a pod that is to be created, what edits say; then undo it."""
        before = [self.api.read(node) for node in self.nodes]
        self._carry_out(edits, pod)
        yield
        for node in self.nodes[len(before) :]:
            self.api.delete(node)
        del self.nodes[len(before) :]
        for node in before:
            now = self.api.read(node)
            if shape_of(now) != shape_of(node):
                added = now["metadata"]["labels"].keys() - node["metadata"]["labels"].keys()
                labels = {**node["metadata"]["labels"], **dict.fromkeys(added)}
                self.settle(node, shape_of(node)[0], labels)
        self.settle(self.nodes[0], {})  # so that the nodes that are gone are so for the scheduler

    def _carry_out(self, edits: list[Json], pod: Json) -> None:
        spec = pod["spec"]
        constraints = spec.get("topologySpreadConstraints", [])
        dropped = {edit["index"] for edit in edits if edit["edit"] == "dropConstraint"}
        for edit in edits:
            match edit["edit"]:
                case "dropConstraint":
                    pass  # once no other edit needs an index
                case "raiseMaxSkew" | "lowerMinDomains" | "honorPolicy" | "correctKey" | "soften":
                    change_constraint(constraints[edit["index"]], edit)
                case "tolerate":
                    spec.setdefault("tolerations", []).append(
                        {**edit["taint"], "operator": "Equal"}
                    )
                case "dropSelector":
                    del spec["nodeSelector"][edit["key"]]
                case "uncordon":
                    node = self.api.read(self._named(edit["node"]))
                    taints = [
                        taint for taint in node["spec"]["taints"] if taint["key"] != CORDON["key"]
                    ]
                    self.settle(node, {"unschedulable": None, "taints": taints})
                case "labelNode":
                    self.settle(self._named(edit["node"]), {}, edit["labels"])
                case "addNodes":
                    self.join(f"added-{self._changes}", edit["labels"])
                case other:
                    raise AssertionError(other)
        if dropped:
            kept = [one for index, one in enumerate(constraints) if index not in dropped]
            spec["topologySpreadConstraints"] = kept

    def _named(self, name: str) -> Json:
        return next(node for node in self.nodes if node["metadata"]["name"] == name)


def shape_of(node: Json) -> tuple[Json, Json]:
    """What decides which pods a node takes: cordon and taints, labels."""
    labels = {key: value for key, value in node["metadata"]["labels"].items() if key != "change"}
    return {key: node["spec"].get(key) for key in ("unschedulable", "taints")}, labels


def count_rejections(message: str) -> Counter[str]:
    """Count the nodes that the scheduler rejects, by reason."""
    listed = message.partition(": ")[2].partition(". ")[0]
    counts = Counter[str]()
    for part in listed.split(", "):
        number, _, words = part.partition(" ")
        reason = next((theirs for theirs, _ in REASONS if theirs in words), words)
        counts[reason] += int(number)
    return counts


def explained(answer: Json) -> Counter[str]:
    """How many nodes we say are rejected for each reason, in the scheduler's words."""
    counts = Counter[str]()
    for group in answer["rejected"]:
        counts[next(theirs for theirs, ours in REASONS if ours in group["reason"])] += group[
            "nodes"
        ]
    return counts


def test_explain_predicts_what_the_scheduler_does(
    new_control_plane: NewControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plane = new_control_plane(
        controllers=False, service_accounts=False, scheduler_profiles=(SPREADING_ALONE,)
    )
    cluster = RandomCluster(plane, random.Random(7), tmp_path)
    fates, made = Counter[str](), Counter[str]()
    for turn in range(MOST_ROUNDS * PER_ROUND):
        if turn % PER_ROUND == 0:
            cluster.throw_nodes()
        pod = cluster.throw_pod(f"pod-{turn}")
        before = cluster.explain_manifest(capsys, pod)
        node, message = cluster.fate(pod)
        after = cluster.explain(capsys, f"pod/pod-{turn}")
        if node:
            fates["bound"] += 1
            assert node in [option["name"] for option in before["nodes"] if option["best"]]
            assert after["runsOn"] == node
        else:
            fates["pending"] += 1
            assert not before["placeable"]
            assert explained(before) == count_rejections(message)
            assert message.startswith(before["failedScheduling"])
            assert after["sentence"] == before["sentence"]
            cluster.api.delete(pod)
            if (fates["pending"] - 1) % MADE == 0:
                assert before["changes"]
                for change in before["changes"]:
                    changed = deepcopy(pod)
                    with cluster.carried_out(change["edits"], changed):
                        assert cluster.explain_manifest(capsys, changed)["placeable"]
                        assert cluster.fate(changed)[1] == "", change
                        cluster.api.delete(changed)
                    made.update(part["edit"] for part in change["edits"])
        if fates["bound"] >= PODS and fates["pending"] >= PODS:
            break
    assert min(fates["bound"], fates["pending"]) >= PODS
    assert made.total() >= PODS // MADE


def test_the_next_pod_of_a_deployment(
    control_plane: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its ReplicaSet is found, and with it the label that distinguishes revisions."""
    namespace = control_plane.create_namespace()
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["pod-template-hash"],
    }
    containers = [{"name": "main", "image": "none"}]
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": containers, "topologySpreadConstraints": [constraint]},
    }
    deployment: Json = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    control_plane.api.create(deployment)
    (made,) = until(
        lambda: control_plane.api.items("apps/v1", "ReplicaSet", namespace), "its ReplicaSet"
    )
    subject = ("deploy/web", "-n", namespace)
    kubeconfig = ("--kubeconfig", str(control_plane.apiserver.kubeconfig))

    code = main(["explain", *subject, *kubeconfig, "-o", "json"])

    out, err = capsys.readouterr()
    explanation = json.loads(out)["explanation"]
    revision = made["metadata"]["labels"]["pod-template-hash"]
    assert err == ""
    assert code == (not explanation["placeable"])
    assert explanation["subject"] == f"the next pod of Deployment {namespace}/web"
    assert explanation["constraints"][0]["selector"] == f"app=web,pod-template-hash={revision}"


def test_a_pod_that_is_not_there(
    control_plane: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = str(control_plane.apiserver.kubeconfig)

    code = main(["explain", "pod/nobody", "--kubeconfig", kubeconfig])

    assert (code, capsys.readouterr().err) == (
        3,
        "error: Pod default/nobody: not found: check its name and its namespace\n",
    )
