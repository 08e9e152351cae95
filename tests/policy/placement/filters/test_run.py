from typing import Any

import pytest

from tests.policy.placement.clusters import gates, spread_over
from tests.policy.placement.filters.nominees import nominate
from tests.policy.placement.filters.objects import (
    REQUIRED,
    V1_36,
    V1_37,
    Json,
    anti_affinity,
    cluster,
    container,
    node_object,
    pod,
    pod_affinity,
    pod_object,
    term,
)
from tests.policy.placement.filters.volumes import uses
from webhook.policy.api.versions import Version
from webhook.policy.model import HOSTNAME, ZONE
from webhook.policy.placement.filters import nodefilters
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.podaffinity import EXISTING_PODS, POD_AFFINITY
from webhook.policy.placement.filters.rejections import FilterRejection
from webhook.policy.placement.filters.run import (
    EXCEEDED_SKEW,
    MISSING_KEY,
    FilterResult,
    filter_nodes,
    filter_some,
    prepare_filters,
)
from webhook.policy.placement.spreads import SpreadConstraint, resolve_constraints

WEB = {"app": "web"}
TAINT = {"key": "a", "effect": "NoSchedule"}
PORT = [container(ports=[{"hostPort": 80}])]
CORDONED = {**node_object("cordoned"), "spec": {"unschedulable": True}}


def hard(key: str) -> tuple[SpreadConstraint, ...]:
    return resolve_constraints((spread_over(key),), WEB, gates()).hard


def names(*values: str) -> Json:
    field = {"key": "metadata.name", "operator": "In", "values": list(values)}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}}


def test_the_nodes_that_a_pod_fits_and_why_it_does_not_fit_the_others() -> None:
    scene = cluster([node_object("full", {"pods": "0"}), node_object("free"), CORDONED])

    result = filter_nodes(pod(), (), scene)

    assert result == FilterResult(
        passing=("free",),
        rejections={
            "full": FilterRejection("NodeResourcesFit", ("Too many pods",)),
            "cordoned": nodefilters.CORDON,
        },
    )


# node, pod, plugin that rejects the node first
ORDER: dict[str, tuple[Json, dict[str, Any], str]] = {
    "a cordon before a taint": (
        {**CORDONED, "spec": {"unschedulable": True, "taints": [TAINT]}},
        {}, "NodeUnschedulable",
    ),
    "a taint before affinity": (
        {**node_object("n"), "spec": {"taints": [TAINT]}},
        {"nodeSelector": {"a": "b"}}, "TaintToleration",
    ),
    "affinity before ports": (
        node_object("n"), {"nodeSelector": {"a": "b"}, "containers": PORT},
        "NodeAffinity",
    ),
    "ports before resources": (
        node_object("n", {"pods": "0"}), {"containers": PORT}, "NodePorts"
    ),
    "resources before disks": (
        node_object("n", {"pods": "0"}), {"volumes": [{"gcePersistentDisk": {"pdName": "d"}}]},
        "NodeResourcesFit",
    ),
    "disks before pod affinity": (
        node_object("n"), {"volumes": [{"gcePersistentDisk": {"pdName": "d"}}], "labels": WEB},
        "VolumeRestrictions",
    ),
    "pod affinity last": (node_object("n"), {"labels": WEB}, "InterPodAffinity"),
}  # fmt: skip


@pytest.mark.parametrize(("node", "members", "plugin"), ORDER.values(), ids=ORDER.keys())
def test_the_first_filter_that_rejects_a_node_gives_the_reason(
    node: Json, members: dict[str, Any], plugin: str
) -> None:
    placed = pod_object(
        "other",
        nodeName=node["metadata"]["name"],
        containers=PORT,
        volumes=[{"gcePersistentDisk": {"pdName": "d"}}],
        affinity=anti_affinity(term(HOSTNAME, app="web")),
    )
    result = filter_nodes(pod(**members), (), cluster([node], [placed]))

    assert [one.plugin for one in result.rejections.values()] == [plugin]


@pytest.mark.parametrize(("version", "plugin"), [(V1_36, "NodeUnschedulable"), (V1_37, "NodeName")])
def test_1_37_compares_the_node_name_first(version: Version, plugin: str) -> None:
    result = filter_nodes(pod(nodeName="other"), (), cluster([CORDONED], version=version))

    assert result.rejections["cordoned"].plugin == plugin


def spread_cluster() -> SchedulingCluster:
    return cluster(
        [
            node_object("n1", labels={ZONE: "a"}),
            node_object("n2", labels={ZONE: "b"}),
            node_object("n3"),
        ],
        [pod_object(nodeName="n1", labels=WEB)],
    )


def test_some_nodes_are_filtered_as_all_are() -> None:
    scene = spread_cluster()
    everywhere = filter_nodes(pod(labels=WEB), hard(ZONE), scene)

    some = filter_some(pod(labels=WEB), hard(ZONE), scene, scene.topology.nodes[:2])

    assert some == {"n1": everywhere.rejections["n1"], "n2": None}


def test_topology_spread_constraints_are_one_filter() -> None:
    result = filter_nodes(pod(labels=WEB), hard(ZONE), spread_cluster())

    assert (result.passing, result.rejections) == (
        ("n2",), {"n1": EXCEEDED_SKEW, "n3": MISSING_KEY}
    )  # fmt: skip


def test_a_skew_is_named_before_the_anti_affinity_of_other_pods() -> None:
    scene = spread_cluster()
    apart = pod(affinity=anti_affinity(term(HOSTNAME, app="web")))
    for node in scene.nodes:
        scene.placed.add(apart, node)

    result = filter_nodes(pod(labels=WEB), hard(ZONE), scene)

    assert result.rejections == {"n1": EXCEEDED_SKEW, "n2": EXISTING_PODS, "n3": MISSING_KEY}


def test_a_pod_that_fits_no_node_is_rejected_as_a_whole() -> None:
    result = filter_nodes(pod(volumes=[uses("data")]), (), cluster([node_object("n1"), CORDONED]))

    reason = ('persistentvolumeclaim "data" not found',)
    expected = FilterRejection("VolumeRestrictions", reason, is_resolvable=False)
    assert result.pod_rejection == expected
    assert result.rejections == {"n1": expected, "cordoned": expected}


def test_nodes_that_affinity_does_not_name_are_not_checked() -> None:
    scene = cluster([node_object("n1"), node_object("n2"), CORDONED])

    result = filter_nodes(pod(affinity=names("n1")), (), scene)

    others = dict.fromkeys(("n2", "cordoned"), nodefilters.OTHER_NODE)
    assert (result.passing, result.rejections) == (("n1",), others)


def test_single_nodes_can_be_checked() -> None:
    scene = spread_cluster()
    filters = prepare_filters(pod(labels=WEB), hard(ZONE), scene)

    assert filters.reject(scene.nodes["n1"]) == EXCEEDED_SKEW
    assert filters.reject(scene.nodes["n2"]) is None


def test_a_placed_pod_counts() -> None:
    scene = spread_cluster()
    one = pod(labels=WEB, containers=[container({"cpu": "3"})])
    assert filter_nodes(one, hard(ZONE), scene).passing == ("n2",)

    scene.placed.add(one, "n2")

    assert filter_nodes(one, hard(ZONE), scene).rejections["n2"].reasons == ("Insufficient cpu",)
    assert filter_nodes(pod(labels=WEB), hard(ZONE), scene).passing == ("n1", "n2")

    scene.placed.remove(one, "n2")
    assert filter_nodes(one, hard(ZONE), scene).passing == ("n2",)


NODE = node_object("n1", {"cpu": "1", "pods": "9"}, {ZONE: "a"})
OTHER = node_object("n2", {"cpu": "1", "pods": "9"}, {ZONE: "b"})
ONCE = {
    "metadata": {
        "name": "data",
        "namespace": "shop",
        "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
    },
    "spec": {"accessModes": ["ReadWriteOncePod"], "volumeName": "pv"},
}
DATA: Json = {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}
CPU = [container({"cpu": "600m"})]
AVOIDS: Json = {"affinity": anti_affinity(term(HOSTNAME, app="web"))}
SEEKS: Json = {"affinity": pod_affinity(term(HOSTNAME, app="db"))}
APART: Json = {"affinity": anti_affinity(term(HOSTNAME, app="none"))}

# pod, the pod that is nominated for n1, why n1 is rejected
NOMINEES: dict[str, tuple[Json, Json, FilterRejection | None]] = {
    "room is kept": (
        {"containers": CPU}, {"containers": CPU},
        FilterRejection("NodeResourcesFit", ("Insufficient cpu",)),
    ),
    "a host port is kept": ({"containers": PORT}, {"containers": PORT}, nodefilters.PORTS),
    "affinity must be satisfied without it, too": (
        SEEKS, {"labels": {"app": "db"}}, POD_AFFINITY
    ),
    "its anti-affinity holds for a pod with terms": (APART, AVOIDS, EXISTING_PODS),
    "it does not for a pod that affinity does not concern": ({}, AVOIDS, None),
    "a claim is in use only if it is without it": (DATA, DATA, None),
    "there is room": ({}, {}, None),
}  # fmt: skip


@pytest.mark.parametrize(("own", "nominee", "expected"), NOMINEES.values(), ids=NOMINEES.keys())
def test_pods_that_are_nominated_for_a_node(
    own: Json, nominee: Json, expected: FilterRejection | None
) -> None:
    volume = {
        "metadata": {"name": "pv"},
        "spec": {"claimRef": {"namespace": "shop", "name": "data"}},
    }
    scene = cluster([NODE], persistentVolumeClaims=[ONCE], persistentVolumes=[volume])
    labelled: Json = {"labels": WEB}
    nominated = pod("other", **(labelled | nominee))

    result = filter_nodes(pod(**(labelled | own)), (), nominate(scene, n1=[nominated]))

    assert result.rejections.get("n1") == expected


def test_constraints_count_the_pods_that_are_nominated_for_the_node_itself() -> None:
    running = [
        pod_object("a", labels=WEB, nodeName="n1"),
        pod_object("b", labels=WEB, nodeName="n2"),
    ]
    scene = nominate(cluster([NODE, OTHER], running), n1=[pod("other", labels=WEB)])

    result = filter_nodes(pod(labels=WEB), hard(ZONE), scene)

    assert (result.passing, result.rejections) == (("n2",), {"n1": EXCEEDED_SKEW})


def test_a_pod_that_fits_no_node_is_rejected_whatever_is_nominated() -> None:
    scene = nominate(cluster([NODE, OTHER]), n1=[pod("other")])

    rejections = filter_nodes(pod(**DATA), (), scene).rejections

    assert rejections["n1"] == rejections["n2"]
