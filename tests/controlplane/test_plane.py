"""The control plane does what tests rely on: it is real, it can be broken, and it ends."""

from pathlib import Path

import pytest

from tests.controlplane import kubelet
from tests.controlplane.api import ApiError, Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane, KubectlError
from tests.controlplane.waiting import until


def configmap(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def deployment(namespace: str, *, replicas: int, node: str) -> Json:
    labels = {"app": "web"}
    pod_spec = {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "containers": [{"name": "web", "image": "web"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec},
        },
    }


def bound(plane: ControlPlane, namespace: str, count: int) -> list[Json]:
    """The bound pods of a namespace, once there are so many."""

    def enough() -> list[Json] | None:
        pods = plane.api.items("v1", "Pod", namespace)
        found = [pod for pod in pods if pod["spec"].get("nodeName")]
        return found if len(found) == count else None

    return until(enough, f"{count} bound pods")


def test_pods_of_a_deployment_are_created_and_bound(control_plane: ControlPlane) -> None:
    api = control_plane.api
    namespace = control_plane.create_namespace()
    node = kubelet.join(api, "bound-1", {"topology.kubernetes.io/zone": "a"})

    api.create(deployment(namespace, replicas=3, node="bound-1"))

    pods = bound(control_plane, namespace, 3)
    assert {pod["spec"]["nodeName"] for pod in pods} == {"bound-1"}
    assert {pod["spec"]["serviceAccountName"] for pod in pods} == {"default"}
    api.delete(node)


def test_a_rollout_completes_when_the_kubelets_part_is_played(control_plane: ControlPlane) -> None:
    api = control_plane.api
    namespace = control_plane.create_namespace()
    node = kubelet.join(api, "rollout-1")
    workload = api.create(deployment(namespace, replicas=1, node="rollout-1"))

    (pod,) = bound(control_plane, namespace, 1)
    kubelet.run(api, pod)

    until(lambda: api.read(workload)["status"].get("readyReplicas") == 1, "a ready replica")
    api.delete(node)


def test_namespaces_are_new_and_labelled(control_plane: ControlPlane) -> None:
    first = control_plane.create_namespace()
    second = control_plane.create_namespace({"team": "a"})

    (found,) = control_plane.api.items("v1", "Namespace", labelSelector="team=a")
    assert first != second
    assert found["metadata"]["name"] == second


def test_kubectl_speaks_to_it(control_plane: ControlPlane) -> None:
    namespace = control_plane.create_namespace()
    manifest = f'{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "{namespace}"}}}}'

    done = control_plane.kubectl("apply", "--namespace", namespace, "-f", "-", stdin=manifest)

    assert done.stdout == f"configmap/{namespace} created\n"


def test_kubectls_failure_is_raised_or_returned(control_plane: ControlPlane) -> None:
    with pytest.raises(KubectlError, match=r"kubectl get pod/none: exit 1\nError from server"):
        control_plane.kubectl("get", "pod/none")

    assert control_plane.kubectl("get", "pod/none", check=False).returncode == 1


def test_a_service_account_has_the_rights_that_rbac_gives(control_plane: ControlPlane) -> None:
    namespace = control_plane.create_namespace()
    account = f"--serviceaccount={namespace}:default"
    control_plane.kubectl("create", "role", "r", "-n", namespace, "--verb=get", "--resource=pods")
    control_plane.kubectl("create", "rolebinding", "r", "-n", namespace, "--role=r", account)
    kubeconfig = control_plane.kubeconfig_of(namespace, "default")

    api = control_plane.api_of(namespace, "default")
    who = control_plane.kubectl("auth", "whoami", kubeconfig=kubeconfig).stdout

    assert f"system:serviceaccount:{namespace}:default" in who
    pod = f"/api/v1/namespaces/{namespace}/pods/none"
    until(lambda: api.request("GET", pod).status == 404, "the role to be known")
    assert api.request("DELETE", pod).status == 403


def test_a_failure_of_the_api_carries_its_causes(control_plane: ControlPlane) -> None:
    wrong = configmap("Not a name")

    with pytest.raises(ApiError, match="422 Invalid") as failed:
        control_plane.api.create(wrong)

    assert failed.value.body["details"]["causes"][0]["field"] == "metadata.name"


def test_an_upgrade_half_done_has_the_gates_of_both_versions(
    new_control_plane: NewControlPlane,
) -> None:
    gate = "MatchLabelKeysInPodTopologySpreadSelectorMerge"
    plane = new_control_plane(
        controllers=False, scheduler=False, emulated_version="1.34", feature_gates={gate: False}
    )
    old = plane.apiserver
    new = plane.add_apiserver(emulated_version=None, feature_gates={})

    stored = new.api.create(configmap("shared"))

    assert old.api.read(stored) == stored
    assert old.api.call("GET", "/version")["emulationMinor"] == "34"
    assert old.metric("kubernetes_feature_enabled", name=gate) == 0
    assert new.metric("kubernetes_feature_enabled", name=gate) == 1

    plane.restart("kube-apiserver", emulated_version=None, feature_gates={})

    assert old.metric("kubernetes_feature_enabled", name=gate) == 1


def test_the_api_server_alone_takes_what_it_is_configured_with(
    new_control_plane: NewControlPlane,
) -> None:
    plane = new_control_plane(
        controllers=False,
        scheduler=False,
        service_accounts=False,
        rbac=False,
        audit=True,
        compaction_interval="1s",
        admission_configuration={
            "PodSecurity": {
                "apiVersion": "pod-security.admission.config.k8s.io/v1",
                "kind": "PodSecurityConfiguration",
                "defaults": {"enforce": "restricted"},
            }
        },
        apiserver_flags=("--max-requests-inflight=17",),
    )

    with pytest.raises(ApiError, match=r"403 Forbidden: .*violates PodSecurity"):
        plane.api.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "it"},
                "spec": {"hostNetwork": True, "containers": [{"name": "it", "image": "it"}]},
            }
        )

    denied = [
        event for event in plane.apiserver.audit_events() if event["responseStatus"]["code"] == 403
    ]
    assert [event["verb"] for event in denied] == ["create"]
    assert [process.name for process in plane.processes] == ["etcd", "kube-apiserver"]
    assert {"--etcd-compaction-interval=1s", "--authorization-mode=AlwaysAllow"} <= set(
        plane.apiserver.process.command
    )


def test_it_survives_the_loss_of_components(new_control_plane: NewControlPlane) -> None:
    plane = new_control_plane()
    kept = plane.api.create(configmap("kept"))

    plane.process("kube-apiserver").kill()
    with pytest.raises(ConnectionRefusedError):
        plane.api.read(kept)
    plane.restart("kube-apiserver")
    assert plane.api.read(kept) == kept

    plane.process("etcd").kill()
    plane.restart("etcd")
    until(plane.apiserver.ready, "the API server to find etcd again")
    assert plane.api.read(kept) == kept

    plane.restart("kube-controller-manager")
    plane.restart("kube-scheduler")
    kubelet.join(plane.api, "after")
    plane.api.create(deployment("default", replicas=2, node="after"))
    bound(plane, "default", 2)


def test_a_watch_from_before_a_compaction_is_gone(new_control_plane: NewControlPlane) -> None:
    plane = new_control_plane(controllers=False, scheduler=False)
    old = plane.api.create(configmap("old"))["metadata"]["resourceVersion"]
    plane.api.create(configmap("new"))

    compacted = plane.etcd.compact()
    plane.restart("kube-apiserver")

    watch = {"watch": "true", "resourceVersion": old, "timeoutSeconds": "1"}
    reply = plane.api.request("GET", "/api/v1/configmaps", query=watch)
    assert compacted > int(old)
    assert (reply.body["type"], reply.body["object"]["code"]) == ("ERROR", 410)


def test_nothing_is_left_of_it(new_control_plane: NewControlPlane) -> None:
    plane = new_control_plane()
    pids = [process.pid for process in plane.processes]
    assert len(pids) == 4

    plane.stop()

    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)  # reaped as well
    assert not plane.folder.exists()
