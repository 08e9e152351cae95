"""
Objects with which one tenant would break a replica, and the reviews that carry them.

An ``Attack`` says what stands at one place of an otherwise ordinary object. Bodies are text, made
when they are sent: no encoder of Python writes what is nested 9 000 levels deep.
"""

import json
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from hypothesis import strategies as st

from tests.controlplane.api import Json
from tests.e2e.objects import VERSIONS, service, workload
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind

MIB: Final = 1024 * 1024

MOST_REQUEST: Final = 3 * MIB
"""Bytes of a request that kube-apiserver takes."""

MOST_STORED: Final = 1_400_000
"""Bytes of an object that etcd takes, with room for what the API server adds (limit 1.5 MiB)."""

MOST_REVIEW: Final = 8 * MIB
"""Bytes of a review that a replica takes."""

KINDS: Final = (*VERSIONS, "Service")
"""What a user of a namespace may write that is watched or hooked."""

LABELS: Final = {"app": "it"}

EMPTY: Final = '""'
"""An empty string, as JSON."""

Text: TypeAlias = Callable[[], str]
"""Writes JSON; given the kind's apiVersion only where it stands in ``{version}``."""


class Attack(NamedTuple):
    """
    One member of an object.

    Attributes:
        path: Members from the object, or behind ``pod/`` from its pod template, with ``/`` between.
        text: What stands there.
        kinds: Those it is about.
    """

    path: str
    text: Text
    kinds: tuple[str, ...] = KINDS

    def body(self, kind: str, namespace: str, name: str) -> bytes:
        """Write the object."""
        made = ordinary(kind, namespace, name)
        *way, last = self._members(kind)
        inner = made
        for member in way:
            inner = inner.setdefault(member, {})
        inner[last] = "@"
        text = self.text().replace("{version}", VERSIONS.get(kind, "v1"))
        return json.dumps(made).replace('"@"', text, 1).encode("utf-8", "surrogatepass")

    def _members(self, kind: str) -> list[str]:
        members = self.path.split("/")
        if members[0] != "pod":
            return members
        group = VERSIONS[kind].rpartition("/")[0]
        return [*BUILT_IN_TEMPLATES.get(GroupKind(group, kind), ("spec", "template")), *members[1:]]


def ordinary(kind: str, namespace: str, name: str) -> Json:
    """An object that nobody objects to; it starts no pods."""
    if kind == "Service":
        return service(name, namespace, LABELS)
    made = workload(kind, name, namespace, LABELS)
    if kind in ("ReplicaSet", "Deployment", "StatefulSet", "ReplicationController", "Rollout"):
        made["spec"]["replicas"] = 0
    if kind == "DaemonSet":
        made["spec"]["template"]["spec"]["nodeSelector"] = {"no": "node"}
    if kind == "Job":
        made["spec"]["suspend"] = True
    return made


def review(body: bytes, kind: str, namespace: str, *, old: bytes = b"") -> bytes:
    """The AdmissionReview of a create, or with an old object of an update."""
    group, _, version = VERSIONS.get(kind, "v1").rpartition("/")
    request = {
        "uid": "hostile",
        "kind": {"group": group, "version": version, "kind": kind},
        "operation": "UPDATE" if old else "CREATE",
        "namespace": namespace,
        "object": "@new",
        "oldObject": "@old",
    }
    head = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    written = json.dumps(head).encode()
    before, _, rest = written.partition(b'"@new"')
    between, _, after = rest.partition(b'"@old"')
    return b"".join((before, body, between, old or b"null", after))


def nested(depth: int, opening: str = '{"f:a":', closing: str = "}", core: str = "{}") -> Text:
    """JSON so many levels deep."""
    return lambda: opening * depth + core + closing * depth


def managed(depth: int) -> Text:
    """Managed fields as an API server stores them."""
    head = '[{"manager":"m","operation":"Update","apiVersion":"{version}","fieldsType":"FieldsV1"'
    return lambda: f'{head},"fieldsV1":{nested(depth)()}}}]'


def repeated(size: int, item: str = "{}") -> Text:
    """A list of one item, of so many bytes."""
    return lambda: "[" + ",".join([item] * (size // (len(item) + 1))) + "]"


def numbered(size: int, item: str) -> Text:
    """A list of items that differ where ``#`` stands, of so many bytes."""
    return lambda: "[" + ",".join(_numbered(size, item)) + "]"


def pairs(size: int, value: str = "", prefix: str = "") -> Text:
    """A map of strings, of so many bytes."""
    return lambda: "{" + ",".join(_numbered(size, f'"{prefix}#":"{value}"')) + "}"


def string(size: int, character: str) -> Text:
    """A string of one character (as JSON writes it), of so many bytes in UTF-8."""
    return lambda: f'"{character * (size // len(character.encode()))}"'


def _numbered(size: int, item: str) -> list[str]:
    count = size // (len(item) + 5)
    return [item.replace("#", f"{number:x}") for number in range(count)]


def constraint(rest: str) -> str:
    """A constraint, and what else stands in it."""
    head = '"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"'
    return f"{{{head},{rest}}}"


def expression(operator: str, values: str) -> str:
    """A constraint whose selector has one expression."""
    inner = f'{{"key":"a","operator":"{operator}","values":{values}}}'
    return constraint(f'"labelSelector":{{"matchExpressions":[{inner}]}}')


def _labelled(key: str, value: str) -> str:
    """A constraint that selects by one label; both are JSON."""
    return constraint(f'"labelSelector":{{"matchLabels":{{{key}:{value}}}}}')


def bad_labels(constraints: int, labels: int) -> Text:
    """Constraints whose labels are all invalid: a finding for each."""

    def write() -> str:
        bad = ",".join(f'"-{number:x}":"-"' for number in range(labels))
        made = constraint(f'"labelSelector":{{"matchLabels":{{{bad}}}}}')
        return repeated(constraints * (len(made) + 1), made)()

    return write


_PODS = tuple(VERSIONS)
_SPREAD = "pod/spec/topologySpreadConstraints"
_SELECTING = ("ReplicaSet", "StatefulSet", "Deployment", "DaemonSet", "Rollout")
_BIG = MOST_REQUEST - 8192

DEPTHS: Final = (10, 900, 990, 1000, 3000, 9000, 9900)

DEEP: Final = {
    **{
        f"managedFields {depth} levels deep": Attack("metadata/managedFields", managed(depth))
        for depth in DEPTHS
    },
    "an unknown member 9900 levels deep": Attack("spec/deep", nested(9900), ("Rollout",)),
    "lists 9900 levels deep": Attack("spec/deep", nested(9900, "[", "]"), ("Rollout",)),
    "a selector 9900 levels deep": Attack("spec/selector", nested(9900), ("Rollout",)),
    "matchLabels 9900 levels deep": Attack("spec/selector/matchLabels", nested(9900), ("Rollout",)),
    "constraints 9900 levels deep": Attack(_SPREAD, nested(9900, "[", "]"), ("Rollout",)),
    "a template 9900 levels deep": Attack("spec/template", nested(9900), ("Rollout",)),
}
"""Each is stored by kube-apiserver."""

WIDE: Final = {
    "1000 constraints of 200 bad labels": Attack(_SPREAD, bad_labels(1000, 200), _PODS),
    "1000 constraints of 1 bad label": Attack(_SPREAD, bad_labels(1000, 1), _PODS),
    "a constraint of 500 000 values": Attack(
        _SPREAD, lambda: f"[{expression('In', numbered(_BIG, chr(34) + '#' + chr(34))())}]", _PODS
    ),
    "a constraint of 500 000 bad values": Attack(
        _SPREAD, lambda: f"[{expression('In', repeated(_BIG, chr(34) + '-' + chr(34))())}]", _PODS
    ),
    "a million empty constraints": Attack(_SPREAD, repeated(_BIG), _PODS),
    "600 000 null constraints": Attack(_SPREAD, repeated(_BIG, "null"), _PODS),
    "a million expressions": Attack(
        _SPREAD,
        lambda: (
            f"[{constraint(chr(34) + 'labelSelector' + chr(34))[:-1]}:"
            f'{{"matchExpressions":{repeated(_BIG)()}}}}}]'
        ),
        _PODS,
    ),
    "matchLabelKeys without end": Attack(
        _SPREAD,
        lambda: (
            f"[{constraint(chr(34) + 'matchLabelKeys' + chr(34))[:-1]}:"
            f"{numbered(_BIG, chr(34) + '#' + chr(34))()}}}]"
        ),
        _PODS,
    ),
    "300 000 labels of the pods": Attack("pod/metadata/labels", pairs(_BIG), _PODS),
    "300 000 labels": Attack("metadata/labels", pairs(_BIG)),
    "300 000 annotations": Attack("metadata/annotations", pairs(_BIG)),
    "a selector of 300 000 pairs": Attack("spec/selector", pairs(_BIG), ("Service",)),
    "a label of control characters": Attack(
        "pod/metadata/labels/a", string(_BIG, "\\u0001"), _PODS
    ),
    "a label of less-thans": Attack("pod/metadata/labels/a", string(_BIG, "<"), _PODS),
    "a label of emoji": Attack("pod/metadata/labels/a", string(_BIG, "\U0001f600"), _PODS),
    "a topology key of control characters": Attack(
        _SPREAD,
        lambda: f'[{{"maxSkew":0,"topologyKey":{string(_BIG, chr(92) + "u0001")()}}}]',
        _PODS,
    ),
    "a topology key of less-thans": Attack(
        _SPREAD, lambda: f'[{{"maxSkew":0,"topologyKey":{string(_BIG, "<")()}}}]', _PODS
    ),
    "a topology key of emoji": Attack(
        _SPREAD, lambda: f'[{{"maxSkew":0,"topologyKey":{string(_BIG, chr(0x1F600))()}}}]', _PODS
    ),
    "a selected label key of control characters": Attack(
        _SPREAD, lambda: f"[{_labelled(string(_BIG, chr(92) + 'u0001')(), EMPTY)}]", _PODS
    ),
    "a selected label key of emoji": Attack(
        _SPREAD, lambda: f"[{_labelled(string(_BIG, chr(0x1F600))(), EMPTY)}]", _PODS
    ),
    "a selected label value of less-thans": Attack(
        _SPREAD, lambda: f"[{_labelled(EMPTY, string(_BIG, '<')())}]", _PODS
    ),
    "an action of emoji": Attack(
        _SPREAD,
        lambda: f'[{{"maxSkew":1,"whenUnsatisfiable":{string(_BIG, chr(0x1F600))()}}}]',
        _PODS,
    ),
    "a name with escapes": Attack("metadata/name", lambda: '"a\\u001b[31m\\n\\u202e"'),
    "a name of 3 MB": Attack("metadata/name", string(_BIG, "<")),
    "a number of a million digits": Attack(
        _SPREAD, lambda: f'[{{"maxSkew":{"9" * 1_000_000}}}]', ("Rollout",)
    ),
}
"""Most are refused by kube-apiserver in the end; the mutating hook sees them before."""

FLOODS: Final = {
    "a million owners": Attack("metadata/ownerReferences", repeated(_BIG)),
    "100 000 owners": Attack(
        "metadata/ownerReferences",
        numbered(_BIG, '{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"#","uid":"u"}'),
    ),
    "a selector of a million expressions": Attack(
        "spec/selector", lambda: f'{{"matchExpressions":{repeated(_BIG)()}}}', _SELECTING
    ),
    "a million tolerations": Attack("pod/spec/tolerations", repeated(_BIG), _PODS),
    "a million containers": Attack("pod/spec/containers", repeated(_BIG), _PODS),
    "a million ports": Attack(
        "pod/spec/containers",
        lambda: f'[{{"name":"a","image":"i","ports":{repeated(_BIG)()}}}]',
        _PODS,
    ),
    "a million terms of affinity": Attack(
        "pod/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution",
        repeated(_BIG),
        _PODS,
    ),
    "a million gates": Attack("pod/spec/schedulingGates", repeated(_BIG), _PODS),
}
"""
Only sent to replicas: kube-apiserver validates each item by itself, which takes it minutes.

None of them is stored, but the mutating hook would see them before.
"""

STORED: Final = {
    "less-thans that are stored": Attack(
        "pod/spec/containers",
        lambda: f'[{{"name":"a","image":"i","args":[{string(MOST_STORED, "<")()}]}}]',
        _PODS,
    ),
    "a selector of 160 000 pairs": Attack("spec/selector", pairs(MOST_STORED), ("Service",)),
    "an expression of 150 000 values": Attack(
        "spec/selector/matchExpressions",
        lambda: (
            '[{"key":"b","operator":"NotIn","values":'
            f"{numbered(MOST_STORED, chr(34) + '#' + chr(34))()}}}]"
        ),
        _SELECTING,
    ),
    "30 000 expressions": Attack(
        "spec/selector/matchExpressions",
        repeated(MOST_STORED, '{"key":"b","operator":"DoesNotExist"}'),
        _SELECTING,
    ),
    "400 000 empty expressions": Attack(
        "spec/selector/matchExpressions", repeated(MOST_STORED), ("Rollout",)
    ),
}
"""Watched kinds that every cache has to hold, or to leave out."""

ATTACKS: Final = {**DEEP, **WIDE, **FLOODS, **STORED}


def generated(most: int = _BIG) -> st.SearchStrategy[tuple[str, Attack]]:
    """
    A kind, and something deep, wide or long somewhere in it.

    Args:
        most: Bytes of what is wide or long.
    """
    sizes = st.integers(1, most)
    character = st.sampled_from(
        ["a", "<", "\\u0001", '\\"', "é", "\u2028", "\U0001f600", "\\u0000"]
    )
    item = st.sampled_from(["{}", "null", '""', "0", "[]", '"#"', '{"key":"#","values":["-"]}'])
    text: st.SearchStrategy[Text] = st.one_of(
        st.builds(nested, st.integers(10, 10_000)),
        st.builds(nested, st.integers(10, 10_000), st.just("["), st.just("]"), st.just("null")),
        st.builds(managed, st.integers(10, 10_000)),
        st.builds(numbered, sizes, item),
        st.builds(pairs, sizes, character),
        st.builds(string, sizes, character),
        st.builds(bad_labels, st.integers(1, 1000), st.integers(1, most // 15_000)),
    )
    paths = sorted({attack.path for attack in ATTACKS.values()})
    attacks = st.builds(Attack, st.sampled_from(paths), text)
    return st.tuples(st.sampled_from(KINDS), attacks).filter(_has_place)


def _has_place(chosen: tuple[str, Attack]) -> bool:
    kind, attack = chosen
    return kind != "Service" or not attack.path.startswith("pod/")
