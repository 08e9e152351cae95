"""
Random volumes: PersistentVolumes, claims, StorageClasses and CSINodes, and the volumes of pods.

``make_storage``, ``add_volumes`` and ``add_disk`` are the entry points. No two PersistentVolumes
have the same size: kube-scheduler takes the smallest that fits, and of equal ones any.
"""

from typing import Any, TypeAlias

from tests.oracle.chance import Chance

Storage: TypeAlias = dict[str, list[dict[str, Any]]]
"""Members of a case's ``cluster``."""

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"

_BETA_ZONE, _REGION = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/region"
_ZONES = ("z1", "z2", "z3")
_EBS, _PD, _OTHER_DRIVER = "ebs.csi.aws.com", "pd.csi.storage.gke.io", "csi.example.com"
_MIGRATED = {
    "kubernetes.io/aws-ebs": _EBS,
    "kubernetes.io/gce-pd": _PD,
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
"""In-tree plugin -> the driver that has replaced it."""
_CLAIMS = ("data", "logs", "cache", "index")
_MODES = (
    *(["ReadWriteOnce"], ["ReadWriteOnce"]),
    *(["ReadWriteOnce", "ReadOnlyMany"], ["ReadWriteMany", "ReadOnlyMany"]),
)
_SINGLE = ["ReadWriteOncePod"]  # which cannot stand beside other modes
_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
_DELETED = "2026-01-01T00:00:00Z"
_WAIT = "WaitForFirstConsumer"
_CLASSES: tuple[tuple[str, str, str | None], ...] = (
    ("local", "kubernetes.io/no-provisioner", _WAIT),
    ("late", _EBS, _WAIT),
    ("other", _OTHER_DRIVER, _WAIT),
    ("migrated", "kubernetes.io/aws-ebs", _WAIT),
    ("now", _EBS, "Immediate"),
    ("default", _EBS, None),  # Immediate
)
"""Name, provisioner and ``volumeBindingMode``."""

_WAITING = ("local", "local", "late", "late", "other", "migrated")


def make_storage(chance: Chance, nodes: list[str]) -> Storage:
    """Make the members of a cluster about storage; pods of namespace ``default`` use its claims."""
    volumes: list[dict[str, Any]] = []
    claims = [
        claim
        for name in _CLAIMS
        if chance.holds(0.96)
        for claim in [_make_claim(chance, name, "default", volumes, nodes)]
    ]
    for _ in range(chance.number(0, 3)):
        volumes.append(_make_volume(chance, len(volumes), nodes))
    return {
        "storageClasses": [_make_class(chance, *one) for one in _CLASSES if chance.holds(0.97)],
        "persistentVolumes": volumes,
        "persistentVolumeClaims": claims,
        "csiNodes": [_make_csi_node(chance, name) for name in nodes if chance.holds(0.8)],
    }


def _make_class(chance: Chance, name: str, provisioner: str, mode: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {"metadata": {"name": name}, "provisioner": provisioner}
    if mode is not None:
        made["volumeBindingMode"] = mode
    if mode == _WAIT and name != "local" and chance.holds(0.5):
        terms = chance.pick(_TOPOLOGIES)
        made["allowedTopologies"] = [_make_topology(chance, zones) for zones in terms]
    return made


_TOPOLOGIES = ((("z1",),), (("z1", "z2"),), (("z2",), ("z3",)))
"""Zones of each term of ``allowedTopologies``; one of the terms has to match."""


def _make_topology(chance: Chance, zones: tuple[str, ...]) -> dict[str, Any]:
    expressions = [{"key": ZONE, "values": list(zones)}]
    if chance.holds(0.15):
        expressions.append({"key": "rack", "values": ["r1", "r2"]})
    return {"matchLabelExpressions": expressions}


def _make_csi_node(chance: Chance, name: str) -> dict[str, Any]:
    drivers: list[dict[str, Any]] = []
    for driver in (*_MIGRATED.values(), _OTHER_DRIVER):
        if chance.holds(0.8):
            made: dict[str, Any] = {"name": driver, "nodeID": name}
            if chance.holds(0.9):
                made["allocatable"] = {"count": chance.pick((0, 1, 1, 2, 2, 3, 25))}
            drivers.append(made)
    metadata: dict[str, Any] = {"name": name}
    if chance.holds(0.6):
        plugins = [plugin for plugin in _MIGRATED if chance.holds(0.7)]
        metadata["annotations"] = {_MIGRATED_PLUGINS: ",".join(plugins)}
    return {"metadata": metadata, "spec": {"drivers": drivers}}


def _make_claim(
    chance: Chance, name: str, namespace: str, volumes: list[dict[str, Any]], nodes: list[str]
) -> dict[str, Any]:
    """Make a claim, and append its volume if it is bound to one."""
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    spec: dict[str, Any] = {
        "accessModes": list(_SINGLE if chance.holds(0.15) else chance.pick(_MODES)),
        "resources": {"requests": {"storage": chance.pick(("1Gi", "2Gi", "5e9"))}},
    }
    status = {"phase": "Pending"}
    claim = {"metadata": metadata, "spec": spec, "status": status}
    match chance.pick(_STATES):
        case "bound":
            _bind(chance, claim, volumes, nodes)
        case "lost":
            _bind(chance, claim, None, nodes)
            status["phase"] = "Lost"
        case "without volume":
            _bind(chance, claim, None, nodes)
        case "being bound":
            spec.update(storageClassName="late", volumeName="pv0")
        case "immediate":
            _set_class(chance, claim, chance.pick(("now", "default", "", "unknown")))
        case _:
            _set_class(chance, claim, chance.pick(_WAITING))
            _restrict(chance, claim, nodes)
    if chance.holds(0.02):
        metadata.update(deletionTimestamp=_DELETED, finalizers=["kubernetes.io/pvc-protection"])
    return claim


_STATES = (
    *("bound",) * 20,
    *("waiting",) * 16,
    *("lost", "without volume", "being bound", "immediate", "immediate"),
)


def _set_class(chance: Chance, claim: dict[str, Any], name: str) -> None:
    if chance.holds(0.05):
        claim["metadata"].setdefault("annotations", {})[_CLASS_ANNOTATION] = name
    else:
        claim["spec"]["storageClassName"] = name


def _restrict(chance: Chance, claim: dict[str, Any], nodes: list[str]) -> None:
    """Restrict the volumes that may be bound to a claim."""
    if chance.holds(0.1):
        claim["spec"]["volumeMode"] = "Block"
    if chance.holds(0.1):
        claim["spec"]["selector"] = {"matchLabels": {"tier": chance.pick("ab")}}
    elif chance.holds(0.1):
        annotations = claim["metadata"].setdefault("annotations", {})
        annotations[_SELECTED_NODE] = chance.pick([*nodes, "gone"])


def _bind(
    chance: Chance,
    claim: dict[str, Any],
    volumes: list[dict[str, Any]] | None,
    nodes: list[str],
) -> None:
    """Bind a claim: to a new volume, which is appended to ``volumes``, or to one that is gone."""
    metadata, spec = claim["metadata"], claim["spec"]
    metadata.setdefault("annotations", {})[_BIND_COMPLETED] = "yes"
    claim["status"]["phase"] = "Bound"
    spec["storageClassName"] = chance.pick(("local", "late", "now"))
    if volumes is None:
        spec["volumeName"] = "gone"
        return
    volume = _make_volume(chance, len(volumes), nodes)
    spec["volumeName"] = volume["metadata"]["name"]
    volume["spec"].update(
        claimRef=_refer(metadata),
        storageClassName=spec["storageClassName"],
        accessModes=spec["accessModes"],
    )
    volume["status"] = {"phase": "Bound"}
    volumes.append(volume)


def _refer(metadata: dict[str, Any]) -> dict[str, Any]:
    named = {member: metadata[member] for member in ("name", "namespace", "uid")}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **named}


def _make_volume(chance: Chance, number: int, nodes: list[str]) -> dict[str, Any]:
    """Make a PersistentVolume that is not bound; most are available."""
    name = f"pv{number}"
    labels = chance.labels(0.3)
    if chance.holds(0.4):
        key = chance.pick((ZONE, ZONE, _BETA_ZONE, _REGION))
        labels[key] = "eu" if key == _REGION else chance.pick((*_ZONES, "z1__z2", "z2__z3"))
    spec: dict[str, Any] = {
        "capacity": {"storage": f"{chance.pick((1, 4, 8))}{number:02}0Mi"},
        "accessModes": list(_SINGLE if chance.holds(0.2) else chance.pick(_MODES)),
        "storageClassName": chance.pick(_WAITING),
    }
    if chance.holds(0.5):
        spec["csi"] = {"driver": chance.pick((_EBS, _OTHER_DRIVER)), "volumeHandle": name}
    elif chance.holds(0.5):
        kind = chance.pick(IN_TREE)
        spec[kind] = _make_source(chance, kind)
        if kind == "gcePersistentDisk":  # kube-scheduler fails on zones of no known region
            labels.update({key: zones.partition("__")[0] for key, zones in labels.items()})
    else:
        spec["local"] = {"path": "/mnt"}
    if "local" in spec or chance.holds(0.5):
        terms = chance.several(lambda: _make_term(chance, nodes), 1, 2)
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    if chance.holds(0.1):
        spec["volumeMode"] = "Block"
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-{name}", "labels": labels}
    if chance.holds(0.03):
        metadata.update(deletionTimestamp=_DELETED, finalizers=["kubernetes.io/pv-protection"])
    phase = chance.pick((*("Available",) * 9, "Pending"))
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def _make_term(chance: Chance, nodes: list[str]) -> dict[str, Any]:
    key, values = chance.pick(((ZONE, _ZONES), (HOSTNAME, (*nodes, "gone")), ("rack", ("r1",))))
    picked = sorted({chance.pick(values) for _ in range(3)})
    operator = chance.pick(("In", "In", "In", "NotIn"))
    return {"matchExpressions": [{"key": key, "operator": operator, "values": picked}]}


def add_volumes(chance: Chance, pod: dict[str, Any], storage: Storage, nodes: list[str]) -> None:
    """Add volumes with claims to a pod, and to the cluster the claims of ephemeral ones."""
    claims = {chance.pick(_CLAIMS) for _ in range(chance.pick((0, 1, 1, 1, 2)))}
    volumes: list[dict[str, Any]] = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in sorted(claims)
    ]
    if chance.holds(0.1):
        volumes.append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": _TEMPLATE}})
        if chance.holds(0.85):
            _add_own_claim(chance, pod, storage, nodes)
    if volumes:
        pod["spec"]["volumes"] = volumes


_TEMPLATE = {
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
        "resources": {"requests": {"storage": "1Gi"}},
    }
}


def _add_own_claim(chance: Chance, pod: dict[str, Any], storage: Storage, nodes: list[str]) -> None:
    """
    Add the claim of a pod's ephemeral volume, or seldom one of the same name.

    That of a running pod is always its own: kube-scheduler reports others as an error of a plugin.
    """
    metadata = pod["metadata"]
    name, namespace = f"{metadata['name']}-scratch", metadata["namespace"]
    claim = _make_claim(chance, name, namespace, storage["persistentVolumes"], nodes)
    if "nodeName" in pod["spec"] or chance.holds(0.9):
        owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"]}
        owner |= {"uid": metadata["uid"], "controller": True}
        claim["metadata"]["ownerReferences"] = [owner]
    storage["persistentVolumeClaims"].append(claim)


IN_TREE = ("gcePersistentDisk", "awsElasticBlockStore", "azureDisk", "cinder", "portworxVolume")
"""Disks that count as volumes of the drivers that have replaced their plugins."""

DISKS = (*IN_TREE[:2], *IN_TREE, "iscsi", "rbd", "csi", "emptyDir")
"""Volumes without a claim; of some kinds, two pods of a node cannot have the same."""


def add_disk(chance: Chance, pod: dict[str, Any], kind: str) -> None:
    """Add a volume of one of ``DISKS`` to a pod."""
    source = _make_source(chance, kind)
    if kind != "emptyDir" and chance.holds(0.4):
        source["readOnly"] = True
    pod["spec"].setdefault("volumes", []).append({"name": "disk", kind: source})


def _make_source(chance: Chance, kind: str) -> dict[str, Any]:
    name = chance.pick(("d1", "d1", "d2"))
    sources: dict[str, dict[str, Any]] = {
        "gcePersistentDisk": {"pdName": name},
        "awsElasticBlockStore": {"volumeID": f"{chance.pick(('', 'aws://z1/'))}vol-{name}"},
        "azureDisk": {"diskName": name, "diskURI": f"/subscriptions/{name}", "kind": "Managed"},
        "cinder": {"volumeID": name},
        "portworxVolume": {"volumeID": name},
        "iscsi": {"targetPortal": "10.0.0.1", "iqn": f"iqn.2026-01.x:{name}", "lun": 0},
        "rbd": {"monitors": list(chance.pick(_MONITORS)), "image": name},
        "csi": {"driver": _EBS},
        "emptyDir": {},
    }
    return sources[kind]


_MONITORS = (("m1",), ("m1", "m2"), ("m3",))
