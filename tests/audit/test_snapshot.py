import gzip
from pathlib import Path

import msgspec
import pytest

from tests.audit import world
from tests.audit.world import EVERYTHING, gather, report_on
from webhook.audit.snapshot import (
    Snapshot,
    SnapshotFact,
    SnapshotOwner,
    is_snapshot,
    load_snapshot,
    reduce_metadata,
    write_snapshot,
)
from webhook.cluster import wire
from webhook.errors import SourceError
from webhook.policy.model import ObjectMeta
from webhook.policy.policyexceptions import PolicyException

TYPE_ERROR = world.BARE.replace("replicas: 3", "replicas: 3\n  template: []").replace(
    "name: db", "name: broken"
)


def test_a_snapshot_gives_the_same_report_as_its_files(tmp_path: Path) -> None:
    gathered = gather(EVERYTHING + TYPE_ERROR, neighbours=world.pod("far", "node-c", "Fleet/sea"))
    file = str(tmp_path / "all.json.gz")

    write_snapshot(gathered.snapshot, file)

    assert report_on(load_snapshot(file)) == report_on(gathered.snapshot)


def test_snapshots_are_the_same_bytes_again_also_when_saved_once_more(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in "abc")

    write_snapshot(gather(EVERYTHING).snapshot, str(first))
    write_snapshot(gather(EVERYTHING).snapshot, str(second))
    write_snapshot(load_snapshot(str(first)), str(third))

    assert first.read_bytes() == second.read_bytes() == third.read_bytes()


def test_a_snapshot_holds_nothing_that_no_rule_reads(tmp_path: Path) -> None:
    write_snapshot(gather(EVERYTHING).snapshot, str(tmp_path / "all"))

    text = gzip.decompress((tmp_path / "all").read_bytes())

    assert b"secret" not in text
    assert b"nginx" not in text


SCALED = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: db, namespace: shop}
spec: {maxReplicas: 7, scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
---
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: workers, namespace: shop}
---
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicyException
metadata: {name: legacy, namespace: shop}
spec: {defaults: true, reason: old, expires: "2027-01-31T00:00:00Z"}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: shop}
spec:
  template: {metadata: {labels: {app: store}}, spec: {}}
  volumeClaimTemplates: [{spec: {}}, {spec: {storageClassName: fast}}]
"""


def test_a_snapshot_keeps_autoscalers_storage_classes_and_pod_groups(tmp_path: Path) -> None:
    gathered = gather(EVERYTHING + SCALED).snapshot

    write_snapshot(gathered, str(tmp_path / "all"))
    loaded = load_snapshot(str(tmp_path / "all"))

    for name in ("autoscalers", "storage_classes", "pod_groups", "exceptions"):
        assert getattr(loaded, name) == getattr(gathered, name)
        assert len(getattr(loaded, name)) == 1
    assert loaded.workloads[-1].subject.claim_classes == (None, "fast")


def test_a_snapshot_of_an_earlier_version_has_none_of_them(tmp_path: Path) -> None:
    write_snapshot(gather(EVERYTHING).snapshot, str(tmp_path / "all"))
    value = msgspec.json.decode(gzip.decompress((tmp_path / "all").read_bytes()))
    del value["autoscalers"], value["storageClasses"], value["podGroups"]
    del value["exceptions"]
    for pod in value["pods"]:
        del pod["stored"]
    (tmp_path / "old").write_bytes(msgspec.json.encode(value))

    loaded = load_snapshot(str(tmp_path / "old"))

    assert (loaded.autoscalers, loaded.storage_classes, loaded.pod_groups) == ([], [], [])
    assert loaded.exceptions == []
    assert report_on(loaded) == report_on(gather(EVERYTHING).snapshot)


def test_a_snapshot_may_be_unpacked(tmp_path: Path) -> None:
    write_snapshot(gather(EVERYTHING).snapshot, str(tmp_path / "packed"))
    (tmp_path / "plain").write_bytes(gzip.decompress((tmp_path / "packed").read_bytes()))

    assert len(load_snapshot(str(tmp_path / "plain")).pods) == 5


BROKEN = {
    "no JSON": (b"nothing", "is no snapshot: JSON is malformed"),
    "cut short": (gzip.compress(b"{}" * 100)[:-9], "is no snapshot: "),
    "not packed as its first bytes claim": (b"\x1f\x8bxxxxxxxx", "is no snapshot: Unknown"),
    "no UTF-8": (b'{"kind":"\xff"}', "is no snapshot: 'utf-8' codec can't decode"),
    "nested too deeply": (b'{"x":' + b"[" * 100_000, "is no snapshot: maximum recursion depth"),
    "another kind": (
        b'{"kind":"Pod","apiVersion":"v1"}',
        "is no snapshot of a supported version, but",
    ),
}


@pytest.mark.parametrize(("data", "problem"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_snapshot(data: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(data)

    with pytest.raises(SourceError) as raised:
        load_snapshot(str(tmp_path / "bad"))

    assert raised.value.problem.startswith(problem)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read: No such file"):
        load_snapshot(str(tmp_path / "none"))
    with pytest.raises(SourceError, match="cannot be written: Is a directory"):
        write_snapshot(gather("").snapshot, str(tmp_path))


def test_a_snapshot_that_is_too_large_is_refused(tmp_path: Path) -> None:
    file = str(tmp_path / "large")
    write_snapshot(gather(EVERYTHING).snapshot, file)

    with pytest.raises(SourceError, match="holds more than"):
        load_snapshot(file, most_bytes=100)


FACTS = {
    "a Namespace": ("namespaces", wire.NamespaceObject()),
    "a Node": ("nodes", wire.NodeObject()),
    "a Service": ("services", wire.ServiceObject()),
    "an exception": (
        "exceptions",
        PolicyException(namespace="shop", name="a", reason="b", defaults=True),
    ),
    "an owner": ("owners", SnapshotOwner(api_version="v1", kind="A", namespace="", name="a")),
}


@pytest.mark.parametrize(("name", "fact"), FACTS.values(), ids=FACTS)
def test_a_fact_is_added_to_the_list_of_its_kind(name: str, fact: SnapshotFact) -> None:
    snapshot, whole = Snapshot(), Snapshot()

    snapshot.add_fact(fact)
    snapshot.add_fact(None)
    whole.extend(snapshot)

    assert getattr(whole, name) == [fact]
    assert whole == snapshot


@pytest.mark.parametrize("packed", [True, False])
def test_a_snapshot_is_recognised(packed: bool, tmp_path: Path) -> None:
    file = tmp_path / "all.gz"
    write_snapshot(gather(EVERYTHING).snapshot, str(file))
    if not packed:
        file.write_bytes(gzip.decompress(file.read_bytes()))

    assert is_snapshot(str(file))


def test_other_files_are_no_snapshots(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(EVERYTHING)

    assert not any(is_snapshot(str(tmp_path / name)) for name in ("pod.yaml", "none", "."))


def test_annotations_that_no_rule_reads_are_removed() -> None:
    kept = {"leaderworkerset.sigs.k8s.io/exclusive-topology": "zone", "evenspread.io/exempt": "x"}

    assert reduce_metadata(ObjectMeta(annotations={**kept, "a": "b"})).annotations == kept


GROUPED = """\
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: llm, namespace: shop}
spec:
  replicas: 2
  leaderWorkerTemplate: {size: 3, leaderTemplate: {spec: {}}, workerTemplate: {spec: {}}}
"""


def test_snapshots_hold_the_groups_of_leader_worker_sets(tmp_path: Path) -> None:
    file = str(tmp_path / "all")
    write_snapshot(gather(GROUPED).snapshot, file)

    members = [one.subject.members for one in load_snapshot(file).workloads]

    assert members == [range(1), range(1, 3)]
