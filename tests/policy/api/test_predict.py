import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import strategies
from tests.build import gates, pod, spread, template, workload
from webhook.policy.api.gates import Gates
from webhook.policy.api.predict import (
    PredictedResponse,
    Request,
    predict_response,
    validation_options,
)
from webhook.policy.api.rules import ValidationOptions
from webhook.policy.api.versions import Version
from webhook.policy.kinds import BUILT_IN_TEMPLATES, POD
from webhook.policy.model import Constraint, GroupKind, PodSpec, PodTemplate
from webhook.policy.paths import CONSTRAINTS_IN_POD, constraints_field

DEPLOYMENT = GroupKind("apps", "Deployment")
STATEFUL_SET = GroupKind("apps", "StatefulSet")
CONTROLLER = GroupKind("", "ReplicationController")

GOOD = spread()
BAD = spread(maxSkew=0)
UNSELECTING = spread(labelSelector=None)
OLD_LABEL = spread(topologyKey="beta.kubernetes.io/os")
HARD = spread(minDomains=2)
KEYED = spread(matchLabelKeys=["app"], labelSelector={})
TWICE = spread(
    matchLabelKeys=["app"],
    labelSelector={"matchExpressions": [{"key": "app", "operator": "Exists"}] * 2},
)
APART = spread(matchLabelKeys=["app"], labelSelector={"matchLabels": {"app": "web"}})
MISSELECTING = spread(labelSelector={"matchLabels": {"-": ""}})

NEWEST = gates()
LEGACY = gates(Version(1, 33))
KEYS_OFF = gates(
    MatchLabelKeysInPodTopologySpread=False, MatchLabelKeysInPodTopologySpreadSelectorMerge=False
)


def submit(
    kind: GroupKind,
    *constraints: dict[str, object],
    old: dict[str, object] | None = None,
    changed: bool = True,
) -> Request:
    def made(*constraints: dict[str, object]) -> PodTemplate:
        return template(pod(*constraints) if kind == POD else workload(kind, *constraints))

    return Request(
        kind=kind,
        path=BUILT_IN_TEMPLATES[kind],
        template=made(*constraints),
        old=made(old) if old else None,
        changed=changed,
    )


def summarize(given: PredictedResponse) -> tuple[list[str], list[str], list[str]]:
    """Rules that refuse, rules that warn, fields that are dropped."""
    return (
        [finding.rule for finding in given.findings],
        [warning.rule for warning in given.warned],
        [drop.field for drop in given.drops],
    )


ANSWERS: dict[str, tuple[Request, Gates, tuple[list[str], list[str], list[str]]]] = {
    "a good pod is taken": (submit(POD, GOOD), NEWEST, ([], [], [])),
    "a bad pod is refused": (submit(POD, BAD), NEWEST, (["TSC001"], [], [])),
    "a pod is warned of": (submit(POD, UNSELECTING), NEWEST, ([], ["TSC021"], [])),
    "a refused pod is not warned of": (
        submit(POD, BAD, UNSELECTING), NEWEST, (["TSC001", "TSC004"], [], [])
    ),
    "a dropped field is not judged": (
        submit(POD, spread(minDomains=-1)),
        gates(MinDomainsInPodTopologySpread=False),
        ([], [], ["minDomains"]),
    ),
    "a pod's keys are merged before they are judged": (
        submit(POD, APART), NEWEST, (["TSC008"], [], [])
    ),
    "a template's keys are not merged": (submit(DEPLOYMENT, APART), NEWEST, ([], [], [])),
    "before merging, keys must stand apart": (
        submit(DEPLOYMENT, APART), LEGACY, (["TSC008"], [], [])
    ),
    "a StatefulSet was not judged by 1.33": (
        submit(STATEFUL_SET, BAD), gates(Version(1, 33)), ([], [], [])
    ),
    "a StatefulSet is judged by 1.34": (
        submit(STATEFUL_SET, BAD), gates(Version(1, 34)), (["TSC001"], [], [])
    ),
    "a StatefulSet whose old list fails is not judged": (
        submit(STATEFUL_SET, BAD, old=APART), KEYS_OFF, ([], [], [])
    ),
    "a StatefulSet whose old list passes is judged": (
        submit(STATEFUL_SET, BAD, old=GOOD), NEWEST, (["TSC001"], [], [])
    ),
    "a null selector was not warned of by 1.27": (
        submit(POD, UNSELECTING), gates(Version(1, 27)), ([], [], [])
    ),
    "an update of a pod is not warned of": (
        submit(POD, UNSELECTING, old=GOOD), NEWEST, ([], [], [])
    ),
    "an update of a template is warned of": (
        submit(DEPLOYMENT, UNSELECTING, old=GOOD), NEWEST, ([], ["TSC021"], [])
    ),
    "an update that changes nothing is not warned of": (
        submit(DEPLOYMENT, UNSELECTING, old=UNSELECTING, changed=False), NEWEST, ([], [], [])
    ),
    "a ReplicationController is warned of its old list": (
        submit(CONTROLLER, UNSELECTING, old=OLD_LABEL), NEWEST, ([], ["TSC020"], [])
    ),
    "an old invalid selector is not held against an update": (
        submit(DEPLOYMENT, MISSELECTING, old=MISSELECTING), NEWEST, ([], [], [])
    ),
    "a new invalid selector is": (
        submit(DEPLOYMENT, MISSELECTING, old=GOOD), NEWEST, (["TSC009"], [], [])
    ),
    "what an update keeps behind a gate is judged by the legacy form": (
        submit(DEPLOYMENT, APART, old=APART), KEYS_OFF, (["TSC008"], [], [])
    ),
    "a bare list is warned of its labels and not of its selectors": (
        replace(submit(DEPLOYMENT, OLD_LABEL, UNSELECTING), path=CONSTRAINTS_IN_POD),
        NEWEST,
        ([], ["TSC020"], []),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("request_", "in_force", "expected"), ANSWERS.values(), ids=ANSWERS.keys())
def test_kube_apiserver_would_answer(
    request_: Request, in_force: Gates, expected: tuple[list[str], list[str], list[str]]
) -> None:
    assert summarize(predict_response(request_, in_force)) == expected


def test_an_object_without_a_template_has_nothing_to_judge() -> None:
    nothing = Request(kind=DEPLOYMENT, path=BUILT_IN_TEMPLATES[DEPLOYMENT], template=None)

    assert predict_response(nothing, NEWEST) == PredictedResponse([], (), [], ())


def test_parts_of_a_patch_get_no_answer() -> None:
    blank: dict[str, object] = {"topologyKey": ""}
    request = replace(
        submit(DEPLOYMENT, blank, GOOD, UNSELECTING | {"topologyKey": "a"}, blank),
        unjudged=frozenset({0, 3}),
    )

    given = predict_response(request, NEWEST)

    assert (given.findings, given.drops) == ([], ())
    assert [warning.entry for warning in given.warned] == [2]
    assert len(given.stored) == 2


def test_what_a_patch_completes_is_judged() -> None:
    request = replace(submit(DEPLOYMENT, {}, BAD), unjudged=frozenset({0}))

    assert [one.rule for one in predict_response(request, NEWEST).findings] == ["TSC001"]


def test_a_new_pod_is_stored_with_its_merged_keys() -> None:
    (stored,) = predict_response(submit(POD, KEYED), NEWEST).stored

    assert stored.label_selector is not None
    (merged,) = stored.label_selector.match_expressions
    assert (merged.key, merged.operator, merged.values) == ("app", "In", ("web",))


@pytest.mark.parametrize(
    ("request_", "in_force"),
    [
        (submit(POD, KEYED), LEGACY),
        (submit(POD, KEYED, old=GOOD), NEWEST),
        (submit(DEPLOYMENT, KEYED), NEWEST),
    ],
    ids=["before 1.34", "an updated pod", "a template"],
)
def test_keys_are_not_merged_into(request_: Request, in_force: Gates) -> None:
    (stored,) = predict_response(request_, in_force).stored

    assert stored.label_selector is not None
    assert stored.label_selector.match_expressions == ()


def merged(key: str = "app", *values: str, operator: str = "In") -> dict[str, object]:
    """A constraint over the key app whose selector has an expression, as if it was merged."""
    expression = {"key": key, "operator": operator, "values": list(values)}
    return spread(
        matchLabelKeys=["app"],
        labelSelector={"matchLabels": {"tier": "x"}, "matchExpressions": [expression]},
    )


# constraint, whether the copy of a stored pod is refused, whether a new pod is
COPIES: dict[str, tuple[dict[str, object], bool, bool]] = {
    "the value that was merged": (merged("app", "web"), False, True),
    "a value of another pod": (merged("app", "shop"), True, True),
    "two values": (merged("app", "web", "shop"), True, True),
    "another operator": (merged("app", operator="Exists"), True, True),
    "another key": (merged("env", "web"), False, False),
    "a pair": (APART, True, True),
    "nothing, as stored before keys were merged": (KEYED, False, False),
    "the merged value, and an expression beside it": (
        spread(
            matchLabelKeys=["app"],
            labelSelector={
                "matchExpressions": [
                    {"key": "app", "operator": "Exists"},
                    {"key": "app", "operator": "In", "values": ["web"]},
                ]
            },
        ),
        True,
        True,
    ),
}


@pytest.mark.parametrize(("written", "copy", "new"), COPIES.values(), ids=COPIES.keys())
def test_a_copy_of_a_stored_pod_has_its_keys_in_the_selector(
    written: dict[str, object], copy: bool, new: bool
) -> None:
    request = submit(POD, written)

    assert bool(predict_response(replace(request, stored=True), NEWEST).findings) is copy
    assert bool(predict_response(request, NEWEST).findings) is new


def test_before_keys_are_merged_a_copy_is_judged_as_a_new_pod() -> None:
    request = replace(submit(POD, merged("app", "web")), stored=True)

    assert summarize(predict_response(request, LEGACY))[0] == ["TSC008"]


@given(st.lists(strategies.good_json_constraints, max_size=3), strategies.labels)
def test_what_is_stored_is_accepted_as_a_copy(
    constraints: list[dict[str, object]], labels: dict[str, str]
) -> None:
    obj = pod(*constraints, labels=labels)
    answer = predict_response(Request(kind=POD, path=(), template=template(obj)), NEWEST)
    assume(not answer.findings)

    spec = PodSpec(topology_spread_constraints=answer.stored)
    copied = PodTemplate(template(obj).metadata, spec)
    again = Request(kind=POD, path=(), template=copied, stored=True)

    assert predict_response(again, NEWEST).findings == []
    assert predict_response(again, NEWEST).stored == answer.stored


PATHS = {
    "a pod": ((), "spec.topologySpreadConstraints"),
    "a PodTemplate": (("template",), "template.spec.topologySpreadConstraints"),
    "a Deployment": (("spec", "template"), "spec.template.spec.topologySpreadConstraints"),
}


@pytest.mark.parametrize(("path", "text"), PATHS.values(), ids=PATHS.keys())
def test_the_list_stands_in(path: tuple[str, ...], text: str) -> None:
    assert constraints_field(path) == text


def listed(*constraints: dict[str, object]) -> tuple[Constraint, ...]:
    return template(pod(*constraints)).constraints


OPTIONS: dict[str, tuple[tuple[Constraint, ...] | None, Gates, ValidationOptions]] = {
    "of a create, by the gate": (None, NEWEST, ValidationOptions(merged=True)),
    "of a create, before the gate": (None, LEGACY, ValidationOptions(merged=False)),
    "of an update from nothing": ((), NEWEST, ValidationOptions(merged=True)),
    "of an update from a good list": (listed(GOOD), NEWEST, ValidationOptions(merged=True)),
    "of an update from bad keys, the other": (
        listed(TWICE), NEWEST, ValidationOptions(merged=False)
    ),
    "of an update from keys that stood apart, the other": (
        listed(APART), LEGACY, ValidationOptions(merged=True)
    ),
    "of an update from bad keys behind a gate, the legacy": (
        listed(APART), KEYS_OFF, ValidationOptions(merged=False)
    ),
    "of an update from a bad selector, without selectors": (
        listed(GOOD, MISSELECTING), NEWEST, ValidationOptions(merged=True, selectors=False)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "in_force", "expected"), OPTIONS.values(), ids=OPTIONS.keys())
def test_the_validation_options(
    old: tuple[Constraint, ...] | None, in_force: Gates, expected: ValidationOptions
) -> None:
    assert validation_options(old, in_force) == expected


@given(strategies.any_lists, st.none() | strategies.any_lists, strategies.some_gates())
def test_any_list_is_answered(
    constraints: tuple[Constraint, ...], old: tuple[Constraint, ...] | None, in_force: Gates
) -> None:
    def holding(listed: tuple[Constraint, ...]) -> PodTemplate:
        return PodTemplate(spec=PodSpec(topology_spread_constraints=listed))

    given = predict_response(
        Request(
            kind=DEPLOYMENT,
            path=BUILT_IN_TEMPLATES[DEPLOYMENT],
            template=holding(constraints),
            old=None if old is None else holding(old),
        ),
        in_force,
    )

    assert not (given.findings and given.warned)
    assert bool(given.drops) == (given.stored != constraints)


def test_a_pod_without_members_is_taken() -> None:
    request = Request(kind=POD, path=(), template=None, old=None, changed=True)

    assert summarize(predict_response(request, NEWEST)) == ([], [], [])
