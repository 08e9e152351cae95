from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.api.schemacases import (
    LIST,
    LISTED,
    TEMPLATE,
    found_in,
    in_constraint,
)
from tests.strategies import any_constraints
from webhook.policy import render
from webhook.policy.api.schema import (
    DUPLICATE_FIELD,
    UNKNOWN_FIELD,
    StrictFinding,
    find_unknown_fields,
    is_list_name,
)
from webhook.policy.paths import FieldPath, find_value, format_path

# members of a constraint -> the path below it in kube-apiserver's words, and the hint
MEMBERS = {
    "a misspelled field": ("{minDomain: 3}", "minDomain", 'did you mean "minDomains"?'),
    "a field in other case": ("{maxskew: 1}", "maxskew", 'did you mean "maxSkew"?'),
    "a field with a dash": ("{max-skew: 1}", "max-skew", 'did you mean "maxSkew"?'),
    "a field with a blank": ("{'maxSkew ': 1}", "maxSkew ", 'did you mean "maxSkew"?'),
    "a short form": ("{selector: {}}", "selector", 'did you mean "labelSelector"?'),
    "a null": ("{nodeTaintPolicy: null}", "nodeTaintPolicy", 'did you mean "nodeTaintsPolicy"?'),
    "a field of another API": ("{namespaces: [x]}", "namespaces", "a constraint has no such field"),
    "a field that is there in both spellings": (
        "{maxSkew: 1, maxskew: 2}", "maxskew", "maxSkew is written as well"
    ),
    "a part of the selector": (
        "{matchLabels: {app: web}}",
        "matchLabels",
        f"it belongs at {LIST}[0].labelSelector.matchLabels",
    ),
    "a field of the selector": (
        "{labelSelector: {matchLabel: {app: web}}}",
        "labelSelector.matchLabel",
        'did you mean "matchLabels"?',
    ),
    "a label beside matchLabels": (
        "{labelSelector: {app.kubernetes.io/name: web}}",
        "labelSelector.app.kubernetes.io/name",
        f"it belongs at {LIST}[0].labelSelector.matchLabels[app.kubernetes.io/name]",
    ),
    "a field of the constraint in its selector": (
        "{labelSelector: {matchLabelKeys: [a]}}",
        "labelSelector.matchLabelKeys",
        f"it belongs at {LIST}[0].matchLabelKeys",
    ),
    "a shorter name": ("{key: zone}", "key", 'did you mean "topologyKey"?'),
    "a name in pieces": (
        "{t-o-p-o-l-o-g-y-k-e-y: a}", "t-o-p-o-l-o-g-y-k-e-y", 'did you mean "topologyKey"?'
    ),
    "another shorter name": ("{skew: 1}", "skew", 'did you mean "maxSkew"?'),
    "a field of the constraint under a shorter name in its selector": (
        "{labelSelector: {selector: {}}}",
        "labelSelector.selector",
        "a labelSelector has no such field",
    ),
    "an unknown list in the selector": (
        "{labelSelector: {names: [a]}}", "labelSelector.names", "a labelSelector has no such field"
    ),
    "a field of an expression": (
        "{labelSelector: {matchExpressions: [{key: a, operater: In, values: [b]}]}}",
        "labelSelector.matchExpressions[0].operater",
        'did you mean "operator"?',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("members", "path", "hint"), MEMBERS.values(), ids=MEMBERS.keys())
def test_an_unknown_field_of_a_constraint(members: str, path: str, hint: str) -> None:
    assert found_in(in_constraint(members)) == [(f'unknown field "{LIST}[0].{path}"', hint)]


NOTHING = {
    "a constraint with every field": in_constraint(
        "{maxSkew: 1, topologyKey: a, whenUnsatisfiable: b, minDomains: 1, nodeAffinityPolicy: c,"
        " nodeTaintsPolicy: d, matchLabelKeys: [e], labelSelector: {matchLabels: {topologyKey: f},"
        " matchExpressions: [{key: a, operator: In, values: [b]}]}}"
    ),
    "directives of a patch": in_constraint("{$patch: delete, $retainKeys: [a], topologyKey: a}"),
    "the order of a patched list": (
        "spec: {template: {spec: "
        "{$setElementOrder/topologySpreadConstraints: [{topologyKey: a}, {topologyKey: b}]}}}"
    ),
    "placeholders": in_constraint("{'${KEY}': 1, '{{ .key }}': 1, <NAME>: 1, '%KEY%': 2}"),
    "a placeholder for the list": "spec: {template: {spec: {topologySpreadConstraint: '${LIST}'}}}",
    "values of other types": in_constraint(
        "1, a, null, [], {labelSelector: [], matchLabelKeys: 1}"
    ),
    "labels of any name": (
        "metadata: {labels: {topologySpreadConstraints: a}}\n"
        "spec: {selector: {topologySpreadConstraint: a}, template: {spec: {nodeSelector:"
        " {topologySpreadConstraints: a}}}}"
    ),
    "an affinity": "spec: {template: {spec: {affinity: {podAffinity: [], nodeAffinity: {a: 1}}}}}",
    "terms of an affinity": (
        "spec: {template: {spec: {affinity: {podAntiAffinity: {"
        "requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}], "
        "preferredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}}}}"
    ),
    "lists of other objects": (
        "spec: {template: {spec: {spread: [{topologyKey: zone}, {key: a}], none: [], names: [a]}}}"
    ),
    "a status": "status: {topologySpreadConstraints: []}",
    "other fields": "spec: {template: {spec: {topologyPolicy: {}, dnsPolcy: a}}, replica: 3}",
    "no object": "3",
    "a list for the template": "spec: {template: []}",
}


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING.keys())
def test_nothing_is_found_in(text: str) -> None:
    assert found_in(text) == []


def test_a_custom_kind_may_have_a_list_of_its_own_outside_of_the_template() -> None:
    own = "spec: {topologySpreadConstraints: [], template: {topologySpreadConstraints: []}}"

    assert found_in(own, custom=True) == [
        ('unknown field "spec.template.topologySpreadConstraints"', f"it belongs at {LIST}")
    ]


def test_a_bare_list_is_examined_and_nothing_around_it() -> None:
    text = "spec: {topologySpreadConstraints: [{minDomain: 1}], labelSelector: {}, template: []}"

    assert [message for message, _ in found_in(text, ("spec", "topologySpreadConstraints"))] == [
        'unknown field "spec.topologySpreadConstraints[0].minDomain"'
    ]


def test_constraints_of_a_bare_list_may_have_fields_of_their_own() -> None:
    own = "{additionalLabelSelectors: OnResource, weight: 3, maxSkw: 1, matchLabels: {}}"
    text = f"spec: {{topologySpreadConstraints: [{own}]}}"

    assert found_in(text, ("spec", "topologySpreadConstraints")) == [
        ('unknown field "spec.topologySpreadConstraints[0].maxSkw"', 'did you mean "maxSkew"?'),
        (
            'unknown field "spec.topologySpreadConstraints[0].matchLabels"',
            "it belongs at spec.topologySpreadConstraints[0].labelSelector.matchLabels",
        ),
    ]


def test_a_list_out_of_place_is_examined_as_well() -> None:
    """Otherwise its unknown fields would be found only after it was moved."""
    text = "spec: {topologySpreadConstraints: [{minDomain: 2}], template: {spec: {}}}"

    assert found_in(text) == [
        ('unknown field "spec.topologySpreadConstraints"', f"it belongs at {LIST}"),
        (
            'unknown field "spec.topologySpreadConstraints[0].minDomain"',
            'did you mean "minDomains"?',
        ),
    ]


JOBS: tuple[FieldPath, FieldPath] = (
    ("spec", "jobs", 0, "template", "spec", "pod"),
    ("spec", "jobs", 1, "template", "spec", "pod"),
)
FIRST, SECOND = (format_path((*job, "spec", "topologySpreadConstraints")) for job in JOBS)
EITHER = f"it belongs in one of 2 pod templates, as at {FIRST}"

# members of the specification, of its second job, and of the second job's specification ->
# the field that has the list, the hint
SHARED: dict[str, tuple[tuple[str, str, str], str, str]] = {
    "under the specification": ((LISTED, "", ""), "spec.topologySpreadConstraints", EITHER),
    "beside the jobs": (
        ("a: {topologySpreadConstraints: []},", "", ""),
        "spec.a.topologySpreadConstraints",
        EITHER,
    ),
    "under one of the jobs": (
        ("", LISTED, ""),
        "spec.jobs[1].topologySpreadConstraints",
        f"it belongs at {SECOND}",
    ),
    "under the specification of one of the jobs": (
        ("", "", LISTED),
        "spec.jobs[1].template.spec.topologySpreadConstraints",
        f"it belongs at {SECOND}",
    ),
}


@pytest.mark.parametrize(("members", "field", "hint"), SHARED.values(), ids=SHARED.keys())
def test_a_list_out_of_place_beside_several_templates(
    members: tuple[str, str, str], field: str, hint: str
) -> None:
    outer, job, inner = members
    pod = "pod: {spec: {}}"
    text = (
        f"spec: {{{outer} jobs: [{{template: {{spec: {{{pod}}}}}}}, "
        f"{{{job} template: {{spec: {{{inner} {pod}}}}}}}]}}"
    )

    (found,) = find_unknown_fields(yaml.safe_load(text), JOBS)

    assert (found.field, found.hint) == (field, hint)
    assert found.hides_list
    assert (found.meant == ()) is (found.alternatives != ())


def test_all_findings_of_an_object_are_reported() -> None:
    inner = "{topologySpreadConstraints: [{a: 1}, {b: 1}]}"
    text = f"spec: {{template: {{topologySpreadConstraints: [], spec: {inner}}}}}"

    assert len(found_in(text)) == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "topologySpreadConstraints": True,
        "TopologySpreadConstraints": True,
        "topology_spread_constraints": True,
        "topologySpreadContraints": True,
        "spreadConstraints": True,
        "podTopologySpreadConstraints": True,
        "topologySpread": False,
        "topologyManagerPolicy": False,
        "x" * 10_000: False,
        "": False,
    }.items(),
)
def test_names_of_the_list(name: str, *, expected: bool) -> None:
    assert is_list_name(name) is expected


# members of a constraint -> what to do
REMEDIES = {
    "{maxskew: 1}": "# write maxSkew",
    "{minDomain: 1, minDomains: 2}": "# remove it: a constraint has maxSkew, ",
    "{matchLabels: {a: b}}": f"# move it to {LIST}[0].labelSelector.matchLabels",
}


@pytest.mark.parametrize(("members", "instead"), REMEDIES.items(), ids=REMEDIES.keys())
def test_each_finding_says_what_to_do(members: str, instead: str) -> None:
    (finding,) = find_unknown_fields(yaml.safe_load(in_constraint(members)), [TEMPLATE])

    assert finding.instead.startswith(instead)
    assert (finding.rule, UNKNOWN_FIELD, DUPLICATE_FIELD) == ("TSC011", "TSC011", "TSC012")


def test_a_field_beside_an_empty_list_belongs_in_an_entry() -> None:
    text = "spec: {template: {spec: {topologySpreadConstraints: [], maxSkew: 3}}}"

    (finding,) = find_unknown_fields(yaml.safe_load(text), [TEMPLATE])

    assert finding.instead == "# move it into an entry of topologySpreadConstraints"


def test_only_a_list_out_of_place_hides_a_list() -> None:
    (hidden,) = find_unknown_fields({"spec": {"topologySpreadConstraints": []}}, [TEMPLATE])
    (shown,) = find_unknown_fields(yaml.safe_load(in_constraint("{a: 1}")), [TEMPLATE])

    assert (hidden.hides_list, shown.hides_list) == (True, False)


def test_a_duplicate_field_is_written_as_by_kube_apiserver() -> None:
    finding = StrictFinding(DUPLICATE_FIELD, ("metadata", "labels", "a.b/c"), hint="twice")

    assert finding.problem == 'duplicate field "metadata.labels.a.b/c"; twice'
    assert finding.field == "metadata.labels[a.b/c]"


@given(st.lists(any_constraints, max_size=3))
def test_fields_that_the_api_knows_are_never_found(constraints: list[Any]) -> None:
    entries = [render.constraint(constraint) for constraint in constraints]

    assert not find_unknown_fields({"spec": {"topologySpreadConstraints": entries}}, [()])


names = st.sampled_from(
    ["spec", "template", "topologySpreadConstraints", "minDomain", "labelSelector", "matchLabels"]
)
anything = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(names | st.text(), inner, max_size=4)
    ),
    max_leaves=25,
)


@given(anything, st.booleans())
def test_every_finding_is_about_a_written_field(value: Any, custom: bool) -> None:
    for finding in find_unknown_fields(value, [TEMPLATE], custom=[TEMPLATE] if custom else []):
        assert find_value(value, finding.path, default=finding) is not finding
        assert (
            find_value(value, finding.meant, default=finding) is finding
            or finding.hides_list
            or not finding.meant
        )
