"""The values for platforms: each differs from the default, says why, and fits its platform."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]  # has no types
import msgspec
import pytest
import yaml

from tests.controlplane.plane import ControlPlane
from tests.deploy.manifests import CHART, DEPLOY, KUBERNETES, NAMESPACE, Helm, Json, by_name, read
from tests.deploy.test_manifests import RELEASES
from tests.docs.markdown import ROOT, anchors
from webhook.config.configuration import policy
from webhook.config.files import load
from webhook.doctor.drift import find_drift
from webhook.doctor.installation import CONFIGURATION_KINDS
from webhook.doctor.objects import WebhookConfiguration
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.request import Hook

FILES = sorted((DEPLOY / "platforms").glob("*.yaml"))
DEFAULTS: Json = yaml.safe_load((CHART / "values.yaml").read_text())
HOST_NETWORK = "eks-overlay-network"


def values(name: str) -> Json:
    read_values: Json = yaml.safe_load((DEPLOY / "platforms" / f"{name}.yaml").read_text())
    return read_values


@cache
def render(helm: Helm, name: str) -> str:
    """Render the chart with the values of a file, once for all tests."""
    return helm.text(values(name))


def objects_of(helm: Helm, name: str) -> list[Json]:
    return read(render(helm, name))


def leaves(tree: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of a tree that are no groups, with their paths."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), value


def named(file: Path) -> str:
    return file.stem


@pytest.mark.parametrize("file", FILES, ids=named)
def test_each_value_differs_from_the_default(file: Path) -> None:
    defaults = dict(leaves(DEFAULTS))

    same = [path for path, value in leaves(values(file.stem)) if defaults.get(path, ...) == value]
    assert same == []


@pytest.mark.parametrize("file", FILES, ids=named)
def test_each_file_says_why_and_where_it_is_described(file: Path) -> None:
    first, *lines = file.read_text().splitlines()

    ((page, anchor),) = re.findall(r"see (docs/\w+\.md)#([\w-]+)\.$", first)
    assert f"deploy/platforms/{file.name}" in (ROOT / page).read_text()
    assert anchor in anchors(ROOT / page)
    reasons = [line for line in lines if line.lstrip().startswith("# ")]
    assert len(reasons) >= len(values(file.stem))


@pytest.mark.parametrize("file", FILES, ids=named)
def test_every_release_knows_every_field(file: Path, helm: Helm) -> None:
    for obj in objects_of(helm, file.stem):
        for release in RELEASES:
            kubernetes_validate.validate(obj, release, strict=True)


@pytest.mark.parametrize("file", FILES, ids=named)
def test_the_server_accepts_its_configuration(file: Path, helm: Helm, tmp_path: Path) -> None:
    objects = by_name(objects_of(helm, file.stem))
    for name, text in objects["ConfigMap/evenspread"]["data"].items():
        (tmp_path / name).write_text(text)

    profiles = policy(load(str(tmp_path / "config.yaml")), resolve(NEWEST_VERSION, {})).profiles
    named_profiles = values(file.stem).get("config", {}).get("profiles", [{"name": "cluster"}])
    assert [profile.name for profile in profiles] == [each["name"] for each in named_profiles]


@pytest.mark.parametrize("file", FILES, ids=named)
def test_the_api_server_takes_every_object(file: Path, plane: ControlPlane, helm: Helm) -> None:
    objects = objects_of(helm, file.stem)

    done = plane.kubectl(
        *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
        stdin=yaml.safe_dump_all(objects),
    )

    assert done.stdout.count("serverside-applied") == len(objects)
    assert ("hostNetwork" in done.stderr) if file.stem == HOST_NETWORK else done.stderr == ""


UNSAFE = {
    *("leases", "nodes", "tokenreviews", "subjectaccessreviews", "certificatesigningrequests"),
}
"""What GKE considers unsafe to intercept, beside pods of kube-system."""


def webhooks(helm: Helm, name: str) -> list[Json]:
    objects = by_name(objects_of(helm, name))
    return [
        webhook
        for kind in CONFIGURATION_KINDS.values()
        for webhook in objects[f"{kind}/evenspread"]["webhooks"]
    ]


def pod(helm: Helm, name: str) -> Json:
    template: Json = by_name(objects_of(helm, name))["Deployment/evenspread"]["spec"]["template"]
    spec: Json = template["spec"]
    return spec


def test_gke_reaches_the_port_and_considers_no_webhook_unsafe(helm: Helm) -> None:
    ports = {
        port["name"]: port["containerPort"] for port in pod(helm, "gke")["containers"][0]["ports"]
    }

    assert ports["admission"] in {443, 10250}
    assert by_name(objects_of(helm, "gke"))["ResourceQuota/evenspread"]
    for webhook in webhooks(helm, "gke"):
        (namespaces,) = webhook["namespaceSelector"]["matchExpressions"]
        assert "kube-system" in namespaces["values"]
        for rule in webhook["rules"]:
            assert rule["scope"] == "Namespaced"
            assert not UNSAFE & set(rule["resources"])


ENFORCED = [
    {"key": "control-plane", "operator": "NotIn", "values": ["true"]},
    {"key": "kubernetes.azure.com/managedby", "operator": "NotIn", "values": ["aks"]},
]
"""What the Admissions Enforcer of AKS adds to a namespaceSelector."""


@pytest.mark.parametrize("hook", Hook)
def test_aks_may_add_its_expressions(helm: Helm, hook: Hook) -> None:
    rendered = by_name(objects_of(helm, "aks"))[f"{CONFIGURATION_KINDS[hook]}/evenspread"]
    assert rendered["metadata"]["annotations"] == {"admissions.enforcer/disabled": "true"}

    for webhook in rendered["webhooks"]:
        webhook["namespaceSelector"]["matchExpressions"] += ENFORCED
    configuration = msgspec.convert(rendered, WebhookConfiguration)
    place = {"name": "evenspread", "namespace": NAMESPACE}
    assert list(find_drift(hook, configuration, **place, custom=())) == []


VOLUMES = {
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"),
    *("projected", "secret"),
}
"""Of restricted-v2. Source: openshift/cluster-kube-apiserver-operator, scc-restricted-v2.yaml."""


def test_openshift_may_choose_the_user_under_restricted_v2(helm: Helm) -> None:
    spec = pod(helm, "openshift")
    (container,) = spec["containers"]

    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
    assert all(volume.keys() - {"name"} <= VOLUMES for volume in spec["volumes"])


def test_openshift_exempts_the_namespaces_of_the_platform(helm: Helm) -> None:
    for webhook in webhooks(helm, "openshift"):
        expressions = webhook["namespaceSelector"]["matchExpressions"]
        assert {"key": "evenspread.io/enabled", "operator": "In", "values": ["true"]} in expressions


def test_an_overlay_network_is_left_with_ports_that_are_free_on_nodes(helm: Helm) -> None:
    spec = pod(helm, HOST_NETWORK)
    ports = {port["containerPort"] for port in spec["containers"][0]["ports"]}

    assert spec["hostNetwork"] is True
    assert not ports & {8080, 8443, 9443, 10248, 10249, 10250, 10256}


KARPENTER_KEYS = {
    "topology.kubernetes.io/zone",
    "kubernetes.io/hostname",
    "karpenter.sh/capacity-type",
}


def test_karpenter_knows_the_topology_keys_and_is_exempt() -> None:
    (profile,) = values("karpenter")["config"]["profiles"]

    assert {each["topologyKey"] for each in profile["defaultConstraints"]} <= KARPENTER_KEYS
    assert values("karpenter")["exemptNamespaces"] == ["karpenter"]


def test_cluster_autoscaler_is_asked_for_nodes_by_chosen_namespaces_alone() -> None:
    chosen, others = values("cluster-autoscaler")["config"]["profiles"]

    assert chosen["match"]
    assert {each["whenUnsatisfiable"] for each in chosen["defaultConstraints"]} == {"DoNotSchedule"}
    assert others.keys() == {"name", "schedulerConfiguration"}


FAILING = {"failurePolicy": {"validating": "Fail"}}
HOOKS = {"argocd": set[str](), "flux": {"pre-delete"}}
"""The hooks that are left, also with Fail."""


@pytest.mark.parametrize(("name", "left"), HOOKS.items(), ids=HOOKS)
def test_gitops_tools_find_no_hook_that_they_would_revert(
    name: str, left: set[str], helm: Helm
) -> None:
    where = ("--namespace", NAMESPACE, "--kube-version", KUBERNETES)
    text = helm.run(
        "template", "evenspread", str(CHART), *where, values={**values(name), **FAILING}
    )
    annotations = [obj["metadata"].get("annotations", {}) for obj in read(text)]

    assert {each["helm.sh/hook"] for each in annotations if "helm.sh/hook" in each} == left
