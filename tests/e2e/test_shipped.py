"""
What is shipped, run as it is shipped: its pods, with its token and its rights, and no others.

The whole lifetime of an installation; then the API server's audit log shows the used rights.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.certs.world import authority, client_pair
from tests.controlplane import webhooks
from tests.controlplane.api import ApiError, Json
from tests.controlplane.assets import Assets
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.deploy.manifests import NAMESPACE, Helm
from tests.e2e.containers import REPOSITORY, require_containers
from tests.e2e.customkinds import define, definition
from tests.e2e.installation import (
    ACCOUNT,
    GONE_S,
    IMAGE,
    NAME,
    WEBHOOKS,
    Cluster,
    Release,
    bundles,
    create_namespace,
    plural,
    removed,
    webhooks_of,
)
from tests.e2e.nodes import RunningPod
from tests.e2e.objects import constraints, controlled_by, service, workload
from tests.e2e.spreadpolicies import PATH, spread_policy
from tests.e2e.test_mtls import showing
from webhook.__main__ import main

FAIL = {
    "failurePolicy": {"mutating": "Fail", "validating": "Fail"},
    "installHook": {"enabled": False},
}
"""So that a test does not miss a call that failed."""

FLEET = {"group": "example.com", "kind": "Fleet", "resource": "fleets"}
CUSTOM = {
    "podTemplates": [{**FLEET, "path": "spec.template"}],
    "ownerSelectors": [{**FLEET, "selectorPath": "spec.selector"}],
}
PRODUCTION = {
    "name": "production",
    "match": {"namespaceSelector": {"matchLabels": {"tier": "production"}}},
    "defaultConstraints": [
        {
            "maxSkew": 7,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
        }
    ],
}
CHANGED = {
    "config": {
        "profiles": [
            PRODUCTION,
            {"name": "cluster", "schedulerConfiguration": "kube-scheduler.yaml"},
        ]
    }
}

OWNERS_LOOKED_UP = ("ReplicaSet", "StatefulSet", "ReplicationController", "Rollout", "Fleet")
"""Kinds of owners that a replica looks up individually if its caches lack them."""


@pytest.fixture
def cluster(control_plane_assets: Assets, tmp_path: Path) -> Iterator[Cluster]:
    """One that cannot stream lists, as before 1.32: so the right to list is needed, too."""
    require_containers()
    gates = {"WatchList": False}
    with Cluster(control_plane_assets, tmp_path, {IMAGE: REPOSITORY}, feature_gates=gates) as made:
        create_namespace(made.plane)
        yield made


def owner_of(kind: str, namespace: str, labels: dict[str, str]) -> Json:
    """An object that owns pods with these labels, and makes none itself."""
    if kind == "Fleet":
        return {
            "apiVersion": f"{FLEET['group']}/v1alpha1",
            "kind": kind,
            "metadata": {"name": "late", "namespace": namespace},
            "spec": {"selector": {"matchLabels": labels}},
        }
    made = workload(kind, "late", namespace, labels)
    made["spec"]["replicas"] = 0
    return made


def pod_of(owner: Json, namespace: str, labels: dict[str, str]) -> Json:
    pod = workload("Pod", "late", namespace, labels)
    pod["metadata"]["ownerReferences"] = [controlled_by(owner)]
    return pod


def selectors(pod: Json) -> list[Json]:
    return [constraint["labelSelector"] for constraint in constraints(pod)]


def has(wanted: list[Json], pod: Json) -> bool:
    """Whether these are the selectors of a pod's constraints."""
    return selectors(pod) == wanted


def defaults_of_owners(plane: ControlPlane, namespace: str) -> None:
    """Pods that real controllers make for each kind, and one that a Service selects."""
    api = plane.api
    api.create(service("alone", namespace, {"app": "alone"}))
    alone = workload("Pod", "alone", namespace, {"app": "alone"})
    until(lambda: constraints(api.create(alone, dryRun="All")), "the Service to be known")
    for kind in ("Deployment", "StatefulSet", "ReplicationController"):
        labels = {"app": kind.lower()}
        api.create(workload(kind, kind.lower(), namespace, labels))
        pods = until(partial(labelled, plane, namespace, kind.lower()), f"a pod of a {kind}")
        assert len(constraints(pods[0])) == 2
        for selector in selectors(pods[0]):
            assert selector["matchLabels"].items() >= labels.items()


def labelled(plane: ControlPlane, namespace: str, app: str) -> list[Json]:
    return plane.api.items("v1", "Pod", namespace, labelSelector=f"app={app}")


def check_pods_before_their_owners(cluster: Cluster, namespace: str) -> None:
    """Create pods before the caches receive their owners."""
    for kind in OWNERS_LOOKED_UP:
        labels = {"late": kind.lower()}
        cluster.to_api.hold()
        owner = cluster.plane.api.create(owner_of(kind, namespace, labels))
        wanted = [{"matchLabels": labels}] * 2
        expect(cluster.plane, pod_of(owner, namespace, labels), partial(has, wanted))
        cluster.to_api.release()


def expect(plane: ControlPlane, pod: Json, right: Callable[[Json], object]) -> None:
    """
    Try to create a pod until it gets what is right.

    The first look-ups may be late: they go over connections on which nothing comes any more.
    """
    until(lambda: right(plane.api.create(pod, dryRun="All")), "the pod to be right")


def denial(plane: ControlPlane, namespace: str) -> None:
    """The API server knows no better: it is a custom kind."""
    broken = {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    denied = workload(
        "Rollout", "broken", namespace, {"app": "web"}, topologySpreadConstraints=[broken]
    )
    with pytest.raises(ApiError, match="maxSkew") as refused:
        plane.api.create(denied)
    assert refused.value.status == 422


def reload(cluster: Cluster, release: Release, values: dict[str, Any]) -> None:
    """The ConfigMap changes; nothing is restarted; a namespace is news to a profile."""
    before = set(cluster.kubelet.running)
    release.upgrade(values)
    until(
        lambda: cluster.plane.api.items("v1", "Event", NAMESPACE, fieldSelector=RELOADED),
        "an Event that the configuration is in force",
    )
    cluster.to_api.hold()
    namespace = cluster.plane.create_namespace({"tier": "production"})
    owner = cluster.plane.api.create(owner_of("ReplicaSet", namespace, {"app": "web"}))
    pod = pod_of(owner, namespace, {"app": "web"})
    expect(cluster.plane, pod, lambda got: [one["maxSkew"] for one in constraints(got)] == [7])
    cluster.to_api.release()
    assert set(cluster.kubelet.running) == before


RELOADED = f"involvedObject.name={NAME},reason=ConfigurationLoaded"


def rotation(plane: ControlPlane) -> None:
    """A new authority is trusted beside the old one."""
    before = bundles(plane)
    kubeconfig = str(plane.apiserver.kubeconfig)
    assert main(["certs", "rotate", "--ca", "-n", NAMESPACE, "--kubeconfig", kubeconfig]) == 0
    until(
        lambda: all(len(now) > len(old) for now, old in zip(bundles(plane), before, strict=True)),
        "the new authority in each caBundle",
    )


def emptied(plane: ControlPlane) -> None:
    """A user empties a caBundle, and it is written again."""
    before = bundles(plane)
    path = plane.api.path_of(webhooks_of(webhooks.KINDS[0]))
    patch = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
    assert plane.api.request("PATCH", path, patch, content_type=JSON_PATCH).status == 200
    until(lambda: bundles(plane) == before, "the caBundle to be written again")


JSON_PATCH = "application/json-patch+json"


class Right(NamedTuple):
    """
    What a rule grants, or a request needs.

    Attributes:
        namespace: Empty: of the cluster.
        name: Empty: whatever it is called.
    """

    namespace: str
    group: str
    resource: str
    verb: str
    name: str

    def covers(self, other: "Right") -> bool:
        return self[1:4] == other[1:4] and all(
            own in ("", its) for own, its in ((self[0], other[0]), (self[4], other[4]))
        )


def granted(plane: ControlPlane) -> set[Right]:
    """Of every role that is bound to the ServiceAccount."""
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    found: set[Right] = set()
    for kind in ("ClusterRole", "Role"):
        for binding in plane.api.items("rbac.authorization.k8s.io/v1", f"{kind}Binding"):
            if subject in binding.get("subjects", ()):
                found |= set(rights(plane, binding))
    return found


def rights(plane: ControlPlane, binding: Json) -> Iterator[Right]:
    namespace = binding["metadata"].get("namespace", "")
    role = {
        "apiVersion": binding["apiVersion"],
        "kind": binding["roleRef"]["kind"],
        "metadata": {"name": binding["roleRef"]["name"], "namespace": namespace},
    }
    for rule in plane.api.read(role)["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", ("",)):
                        yield Right(namespace, group, resource, verb, name)


def requested_rights(plane: ControlPlane) -> Iterator[tuple[Right, int]]:
    """Each request of the ServiceAccount about objects, with its answer."""
    for event in plane.apiserver.audit_events():
        of = event.get("objectRef")
        if event["user"]["username"] == ACCOUNT and of:
            resource = "/".join(filter(None, (of["resource"], of.get("subresource"))))
            right = Right(
                of.get("namespace", ""), of.get("apiGroup", ""), resource, event["verb"],
                of.get("name", ""),
            )  # fmt: skip
            yield right, event["responseStatus"]["code"]


def unused(plane: ControlPlane, grants: set[Right]) -> set[Right]:
    requests = list(requested_rights(plane))
    return {grant for grant in grants if not any(grant.covers(right) for right, _ in requests)}


def confined(pod: RunningPod) -> None:
    """It runs as the user ``nobody``, may do nothing that a user may not, and can write nowhere."""
    proc = Path(f"/proc/{pod.process.pid}")
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    mounts = [line.split() for line in (proc / "mountinfo").read_text().splitlines()]

    assert set(status["Uid"].split()) == set(status["Gid"].split()) == {"65532"}
    assert int(status["CapBnd"], 16) == int(status["CapEff"], 16) == 0
    assert status["NoNewPrivs"].strip() == "1"
    writable = {mount[4] for mount in mounts if "rw" in mount[5].split(",")}
    assert {folder for folder in writable if not folder.startswith(("/proc", "/dev"))} == set()


def test_each_right_that_is_granted_is_used_and_no_other_is(cluster: Cluster, helm: Helm) -> None:
    plane, release = cluster.plane, Release(cluster.plane, helm)
    define(plane, definition("example.com", "Fleet", "fleets"))
    values = {**FAIL, **CUSTOM}
    release.install(values)
    cluster.proxy()
    cluster.wait(2)
    confined(cluster.pods[0])

    until(lambda: plane.api.is_served(PATH), "SpreadPolicies to be served")
    plane.api.create(spread_policy("last"))  # the replica with the Lease writes its status

    namespace = plane.create_namespace()
    defaults_of_owners(plane, namespace)
    check_pods_before_their_owners(cluster, namespace)
    denial(plane, namespace)
    reload(cluster, release, {**values, **CHANGED})
    rotation(plane)
    emptied(plane)

    grants = granted(plane)
    until(lambda: not unused(plane, grants), "each right that is granted to be used")
    requests = list(requested_rights(plane))
    assert {right for right, code in requests if code in (401, 403)} == set()
    assert {r for r, _ in requests if not any(grant.covers(r) for grant in grants)} == set()


def test_callers_without_a_certificate_get_no_verdict_if_the_chart_requires_one(
    control_plane_assets: Assets, helm: Helm, tmp_path: Path
) -> None:
    require_containers()
    callers = authority()
    shown = showing(tmp_path / "shown", client_pair(callers, "kube-apiserver"))
    ca = {"ca.crt": callers.certificate_pem().decode()}
    asked_for = {"clientCA": {"configMapName": "callers"}, "clientNames": ["kube-apiserver"]}
    pods = tmp_path / "pods"
    with Cluster(
        control_plane_assets, pods, {IMAGE: REPOSITORY}, admission_configuration=shown
    ) as cluster:
        plane = cluster.plane
        create_namespace(plane)
        metadata = {"name": "callers", "namespace": NAMESPACE}
        plane.api.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": ca}
        )
        Release(plane, helm).install({**FAIL, "certificate": asked_for})
        cluster.proxy()
        cluster.wait(2)
        pod = workload("Pod", "web", plane.create_namespace(), {"app": "web"})

        plane.api.create(pod, dryRun="All")

        plane.restart("kube-apiserver", admission_configuration={})
        with pytest.raises(ApiError, match="failed calling webhook"):
            plane.api.create(pod, dryRun="All")


def test_kustomize_installs_it_even_if_it_enforces_from_the_first_moment_on(
    control_plane_assets: Assets, tmp_path: Path
) -> None:
    require_containers()
    overlay = str(REPOSITORY / "deploy" / "kustomize" / "overlays" / "enforce")
    with Cluster(control_plane_assets, tmp_path, {IMAGE: REPOSITORY}) as cluster:
        plane = cluster.plane
        plane.kubectl("apply", "-k", overlay)
        cluster.proxy()
        cluster.wait(2)
        namespace = plane.create_namespace()
        plane.api.create(service("web", namespace, {"app": "web"}))
        expect(plane, workload("Pod", "web", namespace, {"app": "web"}), constraints)

        plane.kubectl("delete", WEBHOOKS, NAME)
        plane.kubectl("delete", "-k", overlay, "--ignore-not-found", "--wait=false")
        until(lambda: not cluster.pods, "the pods to be gone", patience_s=GONE_S)

        assert removed(plane) == [*map(plural, webhooks.KINDS), "deployments"]
