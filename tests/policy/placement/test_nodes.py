import msgspec
import pytest

from webhook.policy.model import LabelSelectorRequirement, Node, Taint
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm
from webhook.policy.placement.nodes import (
    UNSCHEDULABLE,
    Demands,
    NodeRejection,
    RejectionReason,
    SchedulingPod,
    Toleration,
    admits_node,
    find_mismatch,
    find_rejection,
    find_untolerated,
    lasting_taints,
    render_taint,
    tolerates,
    tolerates_cordons,
    uncordon,
)

GPU = Taint(key="gpu", value="a100", effect="NoSchedule")
ANY = (Toleration(operator="Exists"),)
SSD = (("disk", "ssd"),)
AFFINITY, CORDON = (
    NodeRejection(reason) for reason in (RejectionReason.AFFINITY, RejectionReason.CORDON)
)
ON_N1 = NodeSelectorTerm(
    match_fields=(LabelSelectorRequirement(key="metadata.name", operator="In", values=("n1",)),)
)
ON_N2 = NodeSelectorTerm(
    match_fields=(LabelSelectorRequirement(key="metadata.name", operator="In", values=("n2",)),)
)

POD = b"""{"metadata": {"namespace": "shop", "labels": {"app": "web"}}, "spec": {
  "nodeSelector": {"os": "linux", "disk": "ssd"},
  "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [{"matchFields": [
      {"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}},
  "tolerations": [{"operator": "Exists"}],
  "topologySpreadConstraints": [{"topologyKey": "zone"}]}}"""


def node(*taints: Taint, unschedulable: bool = False) -> Node:
    return Node("n1", {"disk": "ssd"}, taints, unschedulable=unschedulable)


# node, demands, obstacle of the spreading policies, obstacle of all filters
OBSTACLES = {
    "nothing is required": (node(), Demands(), None, None),
    "the node selector matches": (node(), Demands(pairs=SSD), None, None),
    "the node selector does not match": (
        node(), Demands(pairs=(("disk", "hdd"),)),
        AFFINITY, AFFINITY,
    ),
    "one term matches": (node(), Demands(terms=(ON_N2, ON_N1)), None, None),
    "no term matches": (
        node(), Demands(terms=(ON_N2,)), AFFINITY, AFFINITY
    ),
    "selector and affinity must both match": (
        node(), Demands(pairs=SSD, terms=(ON_N2,)),
        AFFINITY, AFFINITY,
    ),
    "a taint is not tolerated": (
        node(GPU), Demands(),
        NodeRejection(RejectionReason.TAINT, "gpu=a100:NoSchedule"),
        NodeRejection(RejectionReason.TAINT, "gpu=a100:NoSchedule"),
    ),
    "a taint is tolerated": (node(GPU), Demands(tolerations=ANY), None, None),
    "taints are not looked at": (node(GPU), Demands(tolerations=None), None, None),
    "a cordon stops other filters only": (
        node(unschedulable=True), Demands(), None, CORDON
    ),
    "a cordon is tolerated like its taint": (
        node(unschedulable=True), Demands(tolerations=ANY), None, None
    ),
    "a cordon is named before a taint": (
        node(GPU, unschedulable=True), Demands(),
        NodeRejection(RejectionReason.TAINT, "gpu=a100:NoSchedule"), CORDON,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("candidate", "demands", "spreading", "filters"), OBSTACLES.values(), ids=OBSTACLES.keys()
)
def test_obstacles(
    candidate: Node,
    demands: Demands,
    spreading: NodeRejection | None,
    filters: NodeRejection | None,
) -> None:
    assert (find_mismatch(candidate, demands), find_rejection(candidate, demands)) == (
        spreading,
        filters,
    )


def test_the_demands_of_a_pod_are_decoded() -> None:
    pod = msgspec.json.decode(POD, type=SchedulingPod)

    assert pod.demands == Demands((("disk", "ssd"), ("os", "linux")), (ON_N1,), ANY)
    assert pod.labels == {"app": "web"}
    assert [constraint.topology_key for constraint in pod.constraints] == ["zone"]


def test_a_pod_without_a_specification_has_no_demands() -> None:
    assert SchedulingPod().demands == Demands()


def test_equal_demands_are_one_key_of_a_table() -> None:
    decode = msgspec.json.Decoder(SchedulingPod).decode

    assert len({decode(POD).demands, decode(POD).demands}) == 1


@pytest.mark.parametrize("affinity", [True, False])
@pytest.mark.parametrize("taints", [True, False])
def test_policies_keep_what_they_honor(affinity: bool, taints: bool) -> None:
    honored = Demands(SSD, (ON_N2,), ()).honoring(affinity=affinity, taints=taints)

    assert honored.pairs == (SSD if affinity else ())
    assert honored.terms == ((ON_N2,) if affinity else None)
    assert honored.tolerations == (() if taints else None)
    assert admits_node(honored, node()) is not affinity
    assert (
        find_mismatch(node(GPU), Demands(tolerations=honored.tolerations)) is None
    ) is not taints


def test_a_rejection_is_worded_as_by_kube_scheduler() -> None:
    assert [*RejectionReason] == [
        "node(s) lack a topology key",
        "node(s) were unschedulable",
        "node(s) had untolerated taint",
        "node(s) didn't match Pod's node affinity/selector",
    ]
    assert NodeRejection(RejectionReason.CORDON).about == ""


DEDICATED = Taint(key="gpu", value="a100", effect="NoSchedule")
SPOT = Taint(key="spot", effect="NoExecute")
SLOW = Taint(key="slow", effect="PreferNoSchedule")

# toleration, taint, does it match
TOLERATES = {
    "Equal needs the same value": (
        Toleration(key="gpu", operator="Equal", value="a100"), DEDICATED, True
    ),
    "Equal with another value does not": (
        Toleration(key="gpu", operator="Equal", value="h100"), DEDICATED, False
    ),
    "a missing operator is Equal": (Toleration(key="gpu", value="a100"), DEDICATED, True),
    "a missing value is the empty one": (Toleration(key="spot"), SPOT, True),
    "a missing value is not any value": (Toleration(key="gpu"), DEDICATED, False),
    "Exists looks at no value": (Toleration(key="gpu", operator="Exists"), DEDICATED, True),
    "another key does not match": (Toleration(key="spot", operator="Exists"), DEDICATED, False),
    "no key with Exists matches every taint": (Toleration(operator="Exists"), DEDICATED, True),
    "no key with Equal compares values only": (Toleration(value="a100"), DEDICATED, True),
    "the same effect matches": (
        Toleration(key="gpu", operator="Exists", effect="NoSchedule"), DEDICATED, True
    ),
    "another effect does not": (
        Toleration(key="gpu", operator="Exists", effect="NoExecute"), DEDICATED, False
    ),
    "an unknown operator matches nothing": (Toleration(key="gpu", operator="Gt"), DEDICATED, False),
}  # fmt: skip


@pytest.mark.parametrize(
    ("toleration", "taint", "matches"), TOLERATES.values(), ids=TOLERATES.keys()
)
def test_tolerates(toleration: Toleration, taint: Taint, matches: bool) -> None:
    assert tolerates(toleration, taint) is matches


def test_the_first_excluding_taint_that_is_not_tolerated_is_named() -> None:
    assert (
        find_untolerated((SLOW, DEDICATED, SPOT), (Toleration(key="gpu", operator="Exists"),))
        == SPOT
    )


def test_one_of_several_tolerations_suffices() -> None:
    gpu, spot = (Toleration(key=key, operator="Exists") for key in ("gpu", "spot"))

    assert find_untolerated((DEDICATED,), (spot, gpu)) is None
    assert find_untolerated((DEDICATED,), (spot,)) == DEDICATED


def test_a_cordon_is_a_taint_of_kubernetes() -> None:
    assert render_taint(UNSCHEDULABLE) == "node.kubernetes.io/unschedulable:NoSchedule"


def test_a_preference_excludes_nothing() -> None:
    assert find_untolerated((SLOW,), ()) is None


def test_a_taint_is_written_as_kubectl_reads_it() -> None:
    assert [render_taint(DEDICATED), render_taint(SPOT)] == [
        "gpu=a100:NoSchedule",
        "spot:NoExecute",
    ]


@pytest.mark.parametrize(
    "key",
    [
        UNSCHEDULABLE.key,
        "ToBeDeletedByClusterAutoscaler",
        "ebs.csi.aws.com/agent-not-ready",
        "startup-taint.cluster-autoscaler.kubernetes.io/agent",
    ],
)
def test_the_state_of_a_node_rejects_pods_for_now(key: str) -> None:
    node = Node("a", {}, (Taint(key=key, effect="NoSchedule"), Taint(key=key, effect="NoExecute")))

    assert find_mismatch(node, Demands()) is not None
    assert find_mismatch(node, Demands().lasting) is None
    assert lasting_taints(node) == ()


def test_pods_with_tolerations_of_any_key_tolerate_no_more_than_they_say() -> None:
    every = Toleration(effect="NoExecute", operator="Exists")

    assert tolerates(every, Taint(key="karpenter.sh/unregistered", effect="NoExecute"))
    assert not tolerates(every, Taint(key="karpenter.sh/disrupted", effect="NoSchedule"))
    assert Demands(tolerations=(Toleration(),)) != Demands().lasting


def test_other_taints_reject_pods_for_good() -> None:
    gpu, old = Taint(key="gpu", effect="NoExecute"), Taint(key="old", effect="PreferNoSchedule")
    node = Node("a", {}, (UNSCHEDULABLE, old, gpu))

    assert find_mismatch(node, Demands().lasting) is not None
    assert lasting_taints(node) == (gpu,)
    assert Demands(tolerations=None).lasting == Demands(tolerations=None)


def test_null_values_of_a_node_selector_are_empty() -> None:
    pod = msgspec.convert(
        {"spec": {"nodeSelector": {"disk": None}, "nodeName": None}}, SchedulingPod
    )

    assert pod.demands.pairs == (("disk", ""),)
    assert pod.spec is not None
    assert pod.spec.node_name == ""


def test_a_toleration_of_all_taints_is_one_of_cordons() -> None:
    assert tolerates_cordons(Demands(tolerations=ANY))
    assert not tolerates_cordons(Demands())
    assert not tolerates_cordons(Demands(tolerations=None))


def test_an_uncordoned_node_keeps_its_other_taints() -> None:
    gpu = Taint(key="gpu", effect="NoSchedule")
    cordoned = Node("a", {}, taints=(UNSCHEDULABLE, gpu), unschedulable=True)

    assert uncordon(cordoned) == Node("a", {}, taints=(gpu,))


def test_joined_demands() -> None:
    one = Demands((("a", "1"), ("c", "3")), None, (Toleration("gpu"),))
    other = Demands((("a", "2"), ("c", "3")), (), None)

    assert one.joined(other) == Demands(
        (("a", "1"), ("a", "2"), ("c", "3")), (), (Toleration("gpu"),)
    )
