"""The pod that a controller creates, where its template differs from the running pod."""

from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.replacements import (
    ControllerTemplate,
    Replacement,
    foresee_replacement,
)
from webhook.policy.api.versions import Version
from webhook.policy.model import HOSTNAME, ZONE
from webhook.policy.placement.nodes import Toleration

V1_36 = Version(1, 36)
NOT_READY = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
GPU = {"key": "gpu", "operator": "Exists"}
IN_ZONE = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
WITH_DISK = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
REVISION = "controller-revision-hash"

Json = dict[str, Any]


def decode(spec: Json | None, **metadata: Any) -> ApiPod:
    return msgspec.convert({"metadata": metadata, "spec": spec}, ApiPod)


def foresee(
    running: Json | None,
    template: Json | None,
    *,
    is_other: bool = False,
    claims: tuple[str, ...] = (),
    uid: str | None = "uid-0",
) -> Replacement:
    """Foresee the replacement of ``web-0`` from the specs of the pod and of its template."""
    labels = {"app": "web", REVISION: "old" if is_other else "new"}
    pod = decode(running, name="web-0", namespace="shop", uid=uid, labels=labels)
    new = decode(template, labels={"app": "web"})
    wanted = ControllerTemplate(new, {REVISION: "new"}, claims, is_other=is_other)
    return foresee_replacement(pod, wanted, V1_36)


def container(name: str, **requests: str) -> Json:
    return {"name": name, "resources": {"requests": requests}}


def requiring(*terms: Json) -> Json:
    selector = {"nodeSelectorTerms": list(terms)}
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {field: selector}}}


def pod_terms(kind: str, **term: Any) -> Json:
    selects = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}, **term}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [selects]}}}


def spread(**fields: Any) -> Json:
    selects = {"matchLabels": {"app": "web"}}
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selects,
        **fields,
    }
    return {"topologySpreadConstraints": [constraint]}


SMALL, LARGE = ({"containers": [container("c", cpu=cpu)]} for cpu in ("100m", "2"))
PORT = {"containers": [{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80}]}]}
CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "shared"}}]}
MERGED = {
    "matchLabels": {"app": "web"},
    "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}],
}

DIFFERENCES: dict[str, tuple[Json, Json, tuple[str, ...]]] = {
    "none": ({**SMALL, **spread()}, {**SMALL, **spread()}, ()),
    "more requested": (SMALL, LARGE, ("container c requests cpu 2",)),
    "less requested": (LARGE, SMALL, ("container c requests cpu 100m",)),
    "the same in other words": (
        {"containers": [container("c", cpu="0.1")]},
        SMALL,
        (),
    ),
    "by limits": (
        SMALL,
        {"containers": [{"name": "c", "resources": {"limits": {"cpu": "0.1"}}}]},
        (),
    ),
    "of the pod": (
        {},
        {"resources": {"requests": {"cpu": "1"}}},
        ("the pod requests cpu 1",),
    ),
    "init container": (
        SMALL,
        {**SMALL, "initContainers": [container("i", cpu="1")]},
        ("container i requests cpu 1",),
    ),
    "nodeSelector": (
        {"nodeSelector": {"disk": "hdd"}},
        {"nodeSelector": {"disk": "ssd"}},
        ("nodeSelector disk=ssd",),
    ),
    "node affinity": (requiring(IN_ZONE), requiring(WITH_DISK), ("required node affinity",)),
    "pod affinity": ({}, pod_terms("podAffinity"), ("required pod affinity",)),
    "pod anti-affinity": ({}, pod_terms("podAntiAffinity"), ("required pod anti-affinity",)),
    "merged keys of pod affinity": (
        pod_terms("podAffinity", labelSelector=MERGED, matchLabelKeys=["app"]),
        pod_terms("podAffinity", matchLabelKeys=["app"]),
        (),
    ),
    "toleration": ({}, {"tolerations": [GPU]}, ("toleration of gpu",)),
    "all taints": ({}, {"tolerations": [{"operator": "Exists"}]}, ("toleration of all taints",)),
    "host port": ({}, PORT, ("host port 80",)),
    "volume": ({}, CLAIM, ("volume shared",)),
    "constraint": (
        spread(),
        spread(topologyKey=HOSTNAME),
        (f"constraint over {HOSTNAME}",),
    ),
    "merged keys of a constraint": (
        spread(labelSelector=MERGED, matchLabelKeys=["app"]),
        spread(matchLabelKeys=["app"]),
        (),
    ),
    "admission": (
        {
            **spread(),
            **CLAIM,
            "tolerations": [NOT_READY, GPU],
            "nodeSelector": {"team": "a"},
            "containers": [container("c", cpu="100m", memory="1Gi"), container("proxy", cpu="1")],
        },
        SMALL,
        (),
    ),
}


@pytest.mark.parametrize(("pod", "template", "found"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_the_differences_of_a_template(pod: Json, template: Json, found: tuple[str, ...]) -> None:
    assert foresee(pod, template).differences == found


def test_a_replacement_demands_what_both_demand() -> None:
    pod = {"nodeSelector": {"a": "1"}, "tolerations": [GPU], **requiring(IN_ZONE)}
    template = {"nodeSelector": {"b": "2"}, **PORT, **CLAIM, **requiring(WITH_DISK)}

    placed = foresee(pod, template).pod

    assert placed.demands.pairs == (("a", "1"), ("b", "2"))
    (term,) = placed.demands.terms or ()
    assert [one.key for one in term.match_expressions or ()] == [ZONE, "disk"]
    assert placed.demands.tolerations == (Toleration("gpu", "Exists"),)
    assert [port.port for port in placed.ports] == [80]
    assert [volume.name for volume in placed.volumes] == ["shared"]
    assert placed.node_name == ""
    assert len(foresee({}, pod_terms("podAffinity")).pod.affinity) == 1
    assert len(foresee({}, pod_terms("podAntiAffinity")).pod.anti_affinity) == 1
    assert len(foresee(spread(), spread(maxSkew=2)).constraints) == 2


def test_the_larger_requests_of_each_container() -> None:
    pod = {"containers": [container("c", cpu="100m", memory="2Gi"), container("proxy", cpu="1")]}
    template = {"containers": [container("c", cpu="2", memory="1Gi"), container("d", cpu="1")]}

    requests = foresee({**pod, "overhead": {"cpu": "1"}}, template).pod.requests

    assert (requests.milli_cpu, requests.memory) == (5000, 2 << 30)


REMOVALS: dict[str, tuple[Json, Json, tuple[str, ...]]] = {
    "nodeSelector": ({"nodeSelector": {"disk": "hdd"}}, {}, ("no nodeSelector disk=hdd",)),
    "node affinity": (requiring(IN_ZONE), {}, ("no required node affinity",)),
    "pod affinity": (pod_terms("podAffinity"), {}, ("no required pod affinity",)),
    "pod anti-affinity": (pod_terms("podAntiAffinity"), {}, ("no required pod anti-affinity",)),
    "tolerations": (
        {"tolerations": [GPU, NOT_READY, {"operator": "Exists", "effect": "NoExecute"}]},
        {"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]},
        ("no toleration of gpu",),
    ),
    "tolerations that no controller adds": (
        {"tolerations": [NOT_READY, {"key": "karpenter.sh/disrupted", "operator": "Exists"}]},
        {},
        ("no toleration of karpenter.sh/disrupted",),
    ),
    "all taints": ({"tolerations": [{"operator": "Exists"}]}, {}, ("no toleration of all taints",)),
    "constraint": (
        spread(),
        spread(maxSkew=2),
        (f"constraint over {ZONE}", f"no constraint over {ZONE}"),
    ),
    "default constraint": (spread(), {}, ()),
}


@pytest.mark.parametrize(("pod", "template", "found"), REMOVALS.values(), ids=REMOVALS)
def test_what_a_new_revision_no_longer_has(
    pod: Json, template: Json, found: tuple[str, ...]
) -> None:
    replacement = foresee(pod, template, is_other=True)

    assert replacement.differences == found
    assert Toleration("gpu", "Exists") not in (replacement.pod.demands.tolerations or ())


def test_volumes_of_claim_templates_are_those_of_the_pod() -> None:
    pod = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}]}

    replacement = foresee(
        pod, {"volumes": [{"name": "data", "rbd": {"image": "x"}}]}, claims=("data",)
    )

    assert replacement.differences == ()
    assert [volume.name for volume in replacement.pod.volumes] == ["data-web-0"]


def test_a_pod_of_a_file_lacks_defaults() -> None:
    limited = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}

    assert foresee(limited, limited, uid=None).differences == ()


def test_without_a_template_a_replacement_is_like_its_pod() -> None:
    pod = decode({"nodeName": "a1", **SMALL, **spread()}, name="web-0", namespace="shop")

    for template in (None, ControllerTemplate(ApiPod())):
        replacement = foresee_replacement(pod, template, V1_36)
        assert replacement.differences == ()
        assert replacement.pod.requests.milli_cpu == 100
        assert replacement.pod.node_name == ""
        assert len(replacement.constraints) == 1
    assert foresee_replacement(ApiPod(), None, V1_36).constraints == ()
    assert foresee(None, {}).differences == ()


@pytest.mark.parametrize("kind", ["nodeAffinity", "podAffinity", "podAntiAffinity"])
def test_preferred_affinity_of_the_pod_or_its_template(kind: str) -> None:
    affinity = {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100}]}}

    assert foresee({"affinity": affinity}, {}).has_preferences
    assert foresee({}, {"affinity": affinity}).has_preferences
    assert not foresee({"affinity": {kind: {}}}, {}).has_preferences
    pod = decode({"affinity": affinity})
    assert foresee_replacement(pod, None, V1_36).has_preferences
