"""What to write instead depends on the value, and on the constraint around it."""

from typing import Any

import pytest

from tests.build import gates, pod, spread, template, workload
from webhook.policy.api.gates import Gates
from webhook.policy.api.predict import Request, predict_response
from webhook.policy.api.versions import Version
from webhook.policy.catalogue import CATALOGUE, TYPE_INVALID
from webhook.policy.corrections import suggest_correction, suggest_type
from webhook.policy.kinds import BUILT_IN_TEMPLATES, DEPLOYMENT, POD
from webhook.policy.model import GroupKind, PodTemplate
from webhook.policy.paths import constraints_field

HASH = "pod-template-hash"
LABELS = {"app": "web", HASH: "aaa"}
NEWEST, LEGACY = gates(), gates(Version(1, 33))


def keyed(*keys: str, **selector: Any) -> dict[str, object]:
    """A constraint with these matchLabelKeys, and members of its selector."""
    return spread(matchLabelKeys=list(keys), labelSelector=selector)


def expression(*values: str, key: str = HASH, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


MERGED = (
    "to create the pod again, remove the expression of pod-template-hash from labelSelector: "
    "kube-apiserver has added it for matchLabelKeys[{}]"
)
EITHER = "remove matchLabelKeys[{}], or {} from labelSelector"

# kind, constraint, version, the suggestions
CORRECTIONS: dict[str, tuple[GroupKind, dict[str, object], Gates, list[str]]] = {
    "a key that the API server has merged": (
        POD, keyed(HASH, matchExpressions=[expression("aaa")]), NEWEST, [MERGED.format(0)]
    ),
    "the second key": (
        POD, keyed("app", HASH, matchExpressions=[expression("aaa")]), NEWEST, [MERGED.format(1)]
    ),
    "another value": (
        POD,
        keyed(HASH, matchExpressions=[expression("bbb")]),
        NEWEST,
        [EITHER.format(0, HASH)],
    ),
    "a pair": (
        POD, keyed(HASH, matchLabels={HASH: "aaa"}), NEWEST, [EITHER.format(0, HASH)]
    ),
    "a key that is listed twice": (
        POD,
        keyed(HASH, HASH, matchLabels={"app": "web"}),
        NEWEST,
        ["remove matchLabelKeys[1]: matchLabelKeys[0] is the same key"],
    ),
    "a key that is listed twice, and selected": (
        POD,
        keyed(HASH, HASH, matchLabels={HASH: "aaa"}),
        NEWEST,
        [EITHER.format(1, HASH)] * 2,
    ),
    "a key of a template, of which the pods are refused": (
        DEPLOYMENT,
        keyed("app", matchLabels={"app": "web"}),
        NEWEST,
        [EITHER.format(0, "app")],
    ),
    "a key that a template lists twice": (
        DEPLOYMENT,
        keyed("app", "app", matchLabels={"tier": "x"}),
        NEWEST,
        ["remove matchLabelKeys[1]: matchLabelKeys[0] is the same key"],
    ),
    "the value of a template, which nothing has merged": (
        DEPLOYMENT,
        keyed("app", matchExpressions=[expression("web", key="app")]),
        NEWEST,
        [EITHER.format(0, "app")],
    ),
    "before keys are merged": (
        POD, keyed(HASH, matchLabels={HASH: "aaa"}), LEGACY, [EITHER.format(0, HASH)]
    ),
    "a space": (
        POD, keyed("app", f"{HASH} "), NEWEST, ["write pod-template-hash in matchLabelKeys[1]"]
    ),
    "an empty key": (POD, keyed(""), NEWEST, ["remove matchLabelKeys[0], which is empty"] * 2),
    "only spaces": (POD, keyed(" "), NEWEST, ["remove matchLabelKeys[0], which is empty"]),
    "no label key": (
        POD,
        keyed("-x"),
        NEWEST,
        ["write the key of a label of the pods in matchLabelKeys[0], such as pod-template-hash"],
    ),
    "no selector": (
        POD,
        spread(matchLabelKeys=[HASH], labelSelector=None),
        NEWEST,
        [CATALOGUE["TSC008"].fix],
    ),
    "an operator in other letters": (
        POD,
        spread(labelSelector={"matchExpressions": [expression("web", operator="in")]}),
        NEWEST,
        ["write In, NotIn, Exists or DoesNotExist"],
    ),
    "values with Exists": (
        POD,
        spread(labelSelector={"matchExpressions": [expression("web", operator="Exists")]}),
        NEWEST,
        ["write values with In and NotIn, and none with Exists and DoesNotExist"],
    ),
    "a key of a selector that is none": (
        POD,
        spread(labelSelector={"matchExpressions": [expression("web", key="-x")]}),
        NEWEST,
        [CATALOGUE["TSC009"].fix],
    ),
    "another rule": (POD, spread(maxSkew=0), NEWEST, [CATALOGUE["TSC001"].fix]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "written", "in_force", "expected"), CORRECTIONS.values(), ids=CORRECTIONS.keys()
)
def test_a_correction_names_the_key(
    kind: GroupKind, written: dict[str, object], in_force: Gates, expected: list[str]
) -> None:
    path = BUILT_IN_TEMPLATES[kind]
    made = template(pod(written, labels=LABELS) if kind == POD else workload(kind, written))
    answer = predict_response(Request(kind=kind, path=path, template=made), in_force)

    found = [
        suggest_correction(one, made, constraints_field(path))
        for one in (*answer.findings, *answer.refused)
    ]

    assert found == expected


def test_without_the_constraint_the_fix_is_that_of_the_rule() -> None:
    made = template(pod(keyed(HASH, HASH), labels=LABELS))
    (violation,) = predict_response(Request(kind=POD, path=(), template=made), NEWEST).findings

    for other in (None, PodTemplate(), template(pod(keyed("app")))):
        assert suggest_correction(violation, other, constraints_field(())) == (
            CATALOGUE["TSC008"].fix
        )


@pytest.mark.parametrize(
    ("problem", "field", "fix"),
    [
        (
            "expected an integer, got a string",
            "spec.a[0].maxSkew",
            "write an integer without quotes, such as 1",
        ),
        ("expected a string, got an integer", "metadata.labels.a", "write the value in quotes"),
        ("expected a string, got a boolean", "a[0].whenUnsatisfiable", CATALOGUE["TSC003"].fix),
        ("expected a string, got a boolean", "a[0].nodeAffinityPolicy", CATALOGUE["TSC007"].fix),
        ("expected a string, got an integer", "nodeTaintsPolicy", CATALOGUE["TSC007"].fix),
        (
            "expected a list, got a string",
            "a[0].matchLabelKeys",
            "start each entry of the list with a dash",
        ),
        (
            "expected an object, got a string",
            "a[0].labelSelector",
            "write a line with a key and a value for each member",
        ),
        ("expected an object, got a boolean", "", CATALOGUE[TYPE_INVALID].fix),
    ],
)
def test_the_types_say_what_to_write(problem: str, field: str, fix: str) -> None:
    assert suggest_type(problem, field) == fix
