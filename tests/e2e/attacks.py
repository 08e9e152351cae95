"""
The objects with which one tenant would break a replica: deep, wide, long, and generated ones.

Each entry of a table is a title and an ``Attack``.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from hypothesis import strategies as st

from tests.e2e.hostile import (
    KINDS,
    MOST_REQUEST,
    MOST_STORED,
    Attack,
    Text,
    managed,
    nested,
    numbered,
    pairs,
    repeated,
    string,
)
from tests.e2e.tenantkinds import CUSTOM, WITH_PODS

EMPTY: Final = '""'
"""An empty string, as JSON."""


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


_PODS = WITH_PODS
_SPREAD = "pod/spec/topologySpreadConstraints"
_SELECTING = ("ReplicaSet", "StatefulSet", "Deployment", "DaemonSet", *CUSTOM)
_BIG = MOST_REQUEST - 8192

DEPTHS: Final = (10, 900, 990, 1000, 3000, 9000, 9900)


def deep_custom_objects(depth: int) -> dict[str, Attack]:
    """Give custom objects, whose schema allows anything, with something of so many levels."""
    objects, lists = nested(depth), nested(depth, "[", "]")
    parts = {
        "an unknown member": ("spec/deep", objects),
        "lists": ("spec/deep", lists),
        "a selector": ("spec/selector", objects),
        "matchLabels": ("spec/selector/matchLabels", objects),
        "constraints": (_SPREAD, lists),
        "a template": ("spec/template", objects),
    }
    return {
        f"{what} {depth} levels deep": Attack(path, text, CUSTOM)
        for what, (path, text) in parts.items()
    }


DEEP: Final = {
    **{
        f"managedFields {depth} levels deep": Attack("metadata/managedFields", managed(depth))
        for depth in DEPTHS
    },
    **deep_custom_objects(9900),
}
"""Most are stored by kube-apiserver."""

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
        _SPREAD, lambda: f'[{{"maxSkew":{"9" * 1_000_000}}}]', CUSTOM
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
        "spec/selector/matchExpressions", repeated(MOST_STORED), CUSTOM
    ),
}
"""Watched kinds that every cache has to hold, or to leave out."""

ATTACKS: Final = {**DEEP, **WIDE, **FLOODS, **STORED}
"""What makes work for a replica: the generated objects are mixed with these."""

SMALL: Final = {
    "a label that no pod can have, among the keys of a constraint": Attack(
        "spec/template",
        lambda: (
            '{"metadata":{"labels":{"app":".it"}},"spec":{"topologySpreadConstraints":['
            + constraint('"labelSelector":{},"matchLabelKeys":["app"]')
            + "]}}"
        ),
        CUSTOM,
    ),
}
"""Little work, but a replica has answered such a review with 500."""


Chosen: TypeAlias = tuple[str, Attack]
"""A kind and an attack that suits it."""


def generated(most: int = _BIG) -> st.SearchStrategy[Chosen]:
    """
    A kind, and something deep, wide or long anywhere in it, or in its constraints.

    Args:
        most: Bytes of a list or a map. Strings have up to 3 MiB, and take an API server no time.
    """
    paths = sorted({attack.path for attack in ATTACKS.values()})
    anywhere = st.builds(Attack, st.sampled_from(paths), _texts(most))
    findings = st.builds(bad_labels, st.integers(1, 1000), st.integers(1, most // 15_000))
    return st.one_of(
        st.tuples(st.sampled_from(KINDS), anywhere).filter(_has_place),
        st.tuples(st.sampled_from(WITH_PODS), st.builds(Attack, st.just(_SPREAD), findings)),
    )


def listed(attacks: Mapping[str, Attack]) -> st.SearchStrategy[Chosen]:
    """A kind and one of the attacks in a table."""
    chosen = st.sampled_from(list(attacks.values()))
    return chosen.flatmap(lambda attack: st.tuples(st.sampled_from(attack.kinds), st.just(attack)))


def _texts(most: int) -> st.SearchStrategy[Text]:
    sizes, depths = st.integers(1, most), st.integers(10, 10_000)
    character = st.sampled_from(
        ["a", "<", "\\u0001", "\\u001b[31m", '\\"', "é", "\u2028", "\U0001f600", "\\u0000"]
    )
    item = st.sampled_from(["{}", "null", '""', "0", "[]", '"#"', '{"key":"#","values":["-"]}'])
    return st.one_of(
        st.builds(nested, depths),
        st.builds(nested, depths, st.just("["), st.just("]"), st.just("null")),
        st.builds(managed, depths),
        st.builds(numbered, sizes, item),
        st.builds(pairs, sizes, character),
        st.builds(string, st.integers(1, _BIG), character),
    )


def _has_place(chosen: Chosen) -> bool:
    kind, attack = chosen
    return kind != "Service" or not attack.path.startswith("pod/")
