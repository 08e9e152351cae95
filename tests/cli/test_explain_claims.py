"""``explain`` places the pods of a StatefulSet where the volumes of their claims are."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli.conftest import Run
from tests.cli.files import BOUND_CLAIM
from webhook.cli.inputs.storagescope import UNKNOWN_CLAIMS

NODES = "".join(
    f"""\
apiVersion: v1
kind: Node
metadata: {{name: n{zone}, labels: {{kubernetes.io/hostname: n{zone}, zone: {zone}}}}}
status: {{allocatable: {{cpu: "4", pods: "10"}}}}
---
"""
    for zone in "abc"
)
SET = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  volumeClaimTemplates: [{metadata: {name: data}}]
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db}]}
---
"""
DELETES = SET.replace(
    "  replicas", "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\n  replicas"
)
OWN_VOLUME = SET.replace(
    "containers:",
    "volumes: [{name: data, persistentVolumeClaim: {claimName: data-db-1}}], containers:",
)
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: db-%(ordinal)s
  namespace: shop
  labels: {app: db, apps.kubernetes.io/pod-index: "%(ordinal)s"}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true}]
spec: {nodeName: "n%(zone)s", containers: [{name: db}]}
---
"""
CLAIM = (
    BOUND_CLAIM
    + """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-%(ordinal)s}
spec:
  nodeAffinity:
    required:
      nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: ["%(zone)s"]}]}]
---
"""
)


def pods(*zones: str) -> str:
    return "".join(POD % {"ordinal": at, "zone": zone} for at, zone in enumerate(zones) if zone)


def claims(*zones: str) -> str:
    return "".join(CLAIM % {"ordinal": at, "zone": zone} for at, zone in enumerate(zones) if zone)


RUNNING = pods("a", "b")
CONFLICT = "node(s) didn't match PersistentVolume's node affinity"


class Case(NamedTuple):
    """
    A what-if.

    Attributes:
        placed: The nodes of new pods; None if one finds no node, because of its volume.
        is_named: Whether there are volumes that are not considered.
    """

    objects: str
    options: str
    placed: list[str] | None
    is_named: bool


CASES = {
    "a lost zone with the volume": Case(
        SET + RUNNING + claims("a", "b", "c"), "--without zone=a", None, is_named=False
    ),
    "a lost zone without the volume": Case(
        SET + RUNNING + claims("c", "b", "c"), "--without zone=a", ["nc"], is_named=False
    ),
    "a cordoned node with the volume of a pod that is gone": Case(
        SET + pods("", "b") + claims("a", "b", "c"), "--cordon na", None, is_named=False
    ),
    "ordinals with volumes in different zones": Case(
        SET + claims("b", "b", "a"), "--scale 3", ["na", "nb", "nb"], is_named=True
    ),
    "a claim that does not exist": Case(
        SET + RUNNING + claims("", "b", "c"), "--without zone=a", ["nc"], is_named=True
    ),
    "no claims": Case(SET + RUNNING, "--without zone=a", ["nc"], is_named=True),
    "a claim that a scale-down left": Case(
        SET + RUNNING + claims("a", "b", "b"), "--scale 3", ["nb"], is_named=True
    ),
    "a claim that a scale-down deleted": Case(
        DELETES + RUNNING + claims("a", "b", "b"), "--scale 3", ["nc"], is_named=True
    ),
    "a claim that this scale-down leaves": Case(
        SET + RUNNING + claims("a", "b", "c"), "--scale 1 --cordon nb", None, is_named=False
    ),
    "a claim that this scale-down deletes": Case(
        DELETES + RUNNING + claims("a", "b"), "--scale 1 --cordon nb", [], is_named=True
    ),
    "a claim of a deleted pod within the replicas": Case(
        DELETES + pods("", "b") + claims("a", "b"), "--cordon na", None, is_named=True
    ),
    "a claim template in place of a volume of the template": Case(
        OWN_VOLUME + pods("", "b") + claims("a", "b", "c"), "--scale 2", ["na"], is_named=False
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_new_pods_go_to_the_volumes_of_their_ordinals(case: Case, folder: Path, run: Run) -> None:
    (folder / "db.yaml").write_text(NODES + case.objects)
    options = (*case.options.split(), "-o", "json")

    (answer,) = run("explain", "sts/db", "-n", "shop", "--facts", "db.yaml", *options).documents

    placed, explanation = answer["whatIf"]["placed"], answer["explanation"]
    assert sorted(Counter(placed).elements()) == (case.placed or [])
    assert (CONFLICT in str(explanation["failedScheduling"])) is (case.placed is None)
    assert (UNKNOWN_CLAIMS in explanation["notModelled"]) is case.is_named


# objects, the nodes that can take the next pod, whether its volumes are not considered
NEXT: dict[str, tuple[str, list[str], bool]] = {
    "an ordinal with a claim": (SET + pods("", "b") + claims("a", "b"), ["na"], False),
    "an ordinal without a claim": (SET + RUNNING + claims("a", "b"), ["na", "nb", "nc"], True),
}


@pytest.mark.parametrize(("objects", "nodes", "is_named"), NEXT.values(), ids=NEXT)
def test_the_next_pod_has_the_claims_of_its_ordinal(
    objects: str, nodes: list[str], is_named: bool, folder: Path, run: Run
) -> None:
    (folder / "db.yaml").write_text(NODES + objects)

    ran = run("explain", "sts/db", "-n", "shop", "--facts", "db.yaml", "-o", "json")

    (answer,) = ran.documents
    explanation = answer["explanation"]
    assert sorted(node["name"] for node in explanation["nodes"] if node["passes"]) == nodes
    assert (UNKNOWN_CLAIMS in explanation["notModelled"]) is is_named


CLASS = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3}
volumeBindingMode: WaitForFirstConsumer
---
"""
DELAYED = CLASS + SET.replace("name: data}}", "name: data}, spec: {storageClassName: gp3}}")

# objects, options, whether a claim exists that the files lack
LACKING: dict[str, tuple[str, str, bool]] = {
    "a moved pod": (RUNNING, "--without zone=a", True),
    "a moved pod among claims of others": (RUNNING + claims("", "b"), "--without zone=a", True),
    "running pods beside a new one": (RUNNING, "--scale 3", True),
    "running pods beside a new node": (RUNNING, "--add-nodes zone=c:1", True),
    "replaced pods": (RUNNING, "--what-if rollout", True),
    "a missing pod before one that runs": (pods("", "b"), "", True),
    "a pod that is new": (RUNNING, "", False),
    "pods that are new": ("", "--scale 3", False),
    "a new pod beside known claims": (RUNNING + claims("a", "b"), "--scale 3", False),
}


@pytest.mark.parametrize(("objects", "options", "is_named"), LACKING.values(), ids=LACKING)
def test_claims_that_pods_have_used_exist_though_the_files_lack_them(
    objects: str, options: str, is_named: bool, folder: Path, run: Run
) -> None:
    (folder / "db.yaml").write_text(NODES + DELAYED + objects)
    written = ("--facts", "db.yaml", *options.split(), "-o", "json")

    (answer,) = run("explain", "sts/db", "-n", "shop", *written).documents

    named = answer["explanation"]["notModelled"]
    assert named.count(UNKNOWN_CLAIMS) == is_named


def test_a_new_node_in_the_zone_of_the_volume_is_suggested(folder: Path, run: Run) -> None:
    (folder / "db.yaml").write_text(NODES + SET + RUNNING + claims("a", "b"))
    options = ("--facts", "db.yaml", "--without", "zone=a", "-o", "json")

    (answer,) = run("explain", "sts/db", "-n", "shop", *options).documents

    changes = answer["explanation"]["changes"]
    assert [change["sentence"] for change in changes] == ["add 1 node like nb with zone=a"]


def test_a_new_node_may_have_the_labels_of_the_volume(folder: Path, run: Run) -> None:
    driver = "topology.ebs.csi.aws.com/zone"
    volumes = claims("a", "b", "c").replace("key: zone,", f"key: {driver},")
    (folder / "db.yaml").write_text(NODES + SET + RUNNING + volumes)

    ran = run(
        "explain", "sts/db", "-n", "shop", "--facts", "db.yaml", "--scale", "3",
        "--add-nodes", f"{driver}=c:1",
    )  # fmt: skip

    assert (ran.code, ran.err) == (0, "")
    assert "all 3 replicas would run" in ran.out
    assert "new-1" in ran.out


@pytest.mark.parametrize(("may_list", "code"), [(True, 1), (False, 0)], ids=["listed", "forbidden"])
def test_claims_are_read_from_a_live_cluster(
    may_list: bool, code: int, folder: Path, run: Run, api: ApiServer
) -> None:
    api.add(*filter(None, yaml.safe_load_all(NODES + SET + RUNNING + claims("a", "b", "c"))))
    api.define("apps/v1", "ControllerRevision")
    if not may_list:
        api.answers["GET /api/v1/persistentvolumeclaims"] = refuse("claims are forbidden")

    ran = run(
        "explain", "sts/db", "-n", "shop", "--kubeconfig", "kubeconfig", "--without", "zone=a"
    )

    assert ran.err == ""
    assert ran.code == code
    assert (CONFLICT in ran.out) is may_list
    assert (UNKNOWN_CLAIMS in ran.out.splitlines()[-1]) is not may_list
