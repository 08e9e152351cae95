"""Lists and fields of constraints that do not stand where kube-apiserver reads them."""

import pytest

from tests.policy.api.schemacases import JOB_TEMPLATE, LIST, found_in

# object, template -> the field, its hint
PLACES = {
    "a misspelled list": (
        "spec: {template: {spec: {topologySpreadConstraint: []}}}",
        "spec.template.spec.topologySpreadConstraint",
        'did you mean "topologySpreadConstraints"?',
    ),
    "a list in other case": (
        "spec: {template: {spec: {topologyspreadconstraints: null}}}",
        "spec.template.spec.topologyspreadconstraints",
        'did you mean "topologySpreadConstraints"?',
    ),
    "a list under the specification of the workload": (
        "spec: {topologySpreadConstraints: [{maxSkew: 1}], template: {}}",
        "spec.topologySpreadConstraints",
        f"it belongs at {LIST}",
    ),
    "a misspelled list under the template": (
        "spec: {template: {topologySpreadConstrains: []}}",
        "spec.template.topologySpreadConstrains",
        f"it belongs at {LIST}",
    ),
    "a list in the metadata": (
        "metadata: {topologySpreadConstraints: []}",
        "metadata.topologySpreadConstraints",
        f"it belongs at {LIST}",
    ),
    "a list under a container": (
        "spec: {template: {spec: {containers: [{}, {topologySpreadConstraints: []}]}}}",
        "spec.template.spec.containers[1].topologySpreadConstraints",
        f"it belongs at {LIST}",
    ),
    "a list under the affinity": (
        "spec: {template: {spec: {affinity: {podAntiAffinity: {topologySpreadConstraints: []}}}}}",
        "spec.template.spec.affinity.podAntiAffinity.topologySpreadConstraints",
        f"it belongs at {LIST}",
    ),
    "a list under a name of its own": (
        "spec: {template: {spec: {topologySpread: [{topologyKey: zone}]}}}",
        "spec.template.spec.topologySpread",
        'did you mean "topologySpreadConstraints"?',
    ),
    "a list under a name of its own in a wrong place": (
        "spec: {template: {spec: {affinity: {spread: [{topologyKey: a}, {topologyKey: b}]}}}}",
        "spec.template.spec.affinity.spread",
        f"it belongs at {LIST}",
    ),
    "a field beside the constraint that it is missing from": (
        "spec: {template: {spec: {topologySpreadConstraints: [{}, {maxSkew: 1}], minDomains: 3}}}",
        "spec.template.spec.minDomains",
        f"it belongs at {LIST}[1].minDomains",
    ),
    "a field beside an empty list": (
        "spec: {template: {spec: {topologySpreadConstraints: [], maxSkew: 3}}}",
        "spec.template.spec.maxSkew",
        "it belongs in an entry of topologySpreadConstraints",
    ),
    "a short name of the list, without entries": (
        "spec: {template: {spec: {topologySpreadCon: null}}}",
        "spec.template.spec.topologySpreadCon",
        'did you mean "topologySpreadConstraints"?',
    ),
    "a field beside constraints that have it": (
        "spec: {template: {spec: {topologySpreadConstraints: [{maxSkew: 1}], maxSkew: 3}}}",
        "spec.template.spec.maxSkew",
        "it belongs in an entry of topologySpreadConstraints",
    ),
    "a list that lost its constraint": (
        "spec: {template: {spec: {matchLabelKeys: [a]}}}",
        "spec.template.spec.matchLabelKeys",
        "it belongs in an entry of topologySpreadConstraints",
    ),
    "a field that lost its constraint": (
        "spec: {template: {spec: {labelSelector: {}}}}",
        "spec.template.spec.labelSelector",
        "it belongs in an entry of topologySpreadConstraints",
    ),
}


@pytest.mark.parametrize(("text", "field", "hint"), PLACES.values(), ids=PLACES.keys())
def test_a_list_that_does_not_stand_where_it_is_read(text: str, field: str, hint: str) -> None:
    assert found_in(text) == [(f'unknown field "{field}"', hint)]


def test_the_places_of_a_pod_and_of_a_cron_job() -> None:
    assert found_in("topologySpreadConstraints: []", ()) == [
        (
            'unknown field "topologySpreadConstraints"',
            "it belongs at spec.topologySpreadConstraints",
        )
    ]
    assert found_in(
        "spec: {jobTemplate: {spec: {topologySpreadConstraints: []}}}", JOB_TEMPLATE
    ) == [
        (
            'unknown field "spec.jobTemplate.spec.topologySpreadConstraints"',
            "it belongs at spec.jobTemplate.spec.template.spec.topologySpreadConstraints",
        )
    ]
