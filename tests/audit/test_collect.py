import pytest

from tests.audit import world
from tests.audit.world import gather

FACTS = {
    "a Service whose selector is a list": (
        "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: []}}",
        "Service/a: spec.selector: expected an object, got a list",
    ),
    "a Node without a name": (
        "{apiVersion: v1, kind: Node, metadata: {}}",
        "Node: metadata.name: missing, write one",
    ),
    "an owner whose selector is a list": (
        "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {selector: []}}",
        "StatefulSet/a: spec.selector: expected an object, got a list",
    ),
    "an exception with its end under another name": (
        (
            "{apiVersion: evenspread.io/v1alpha1, kind: SpreadPolicyException, metadata: "
            "{name: a}, spec: {rules: [TSC101], reason: b, expire: 2030-01-01}}"
        ),
        "SpreadPolicyException/a: spec.expire: no such key: did you mean expires?",
    ),
}


@pytest.mark.parametrize(("text", "problem"), FACTS.values(), ids=FACTS.keys())
def test_facts_that_cannot_be_read_are_problems(text: str, problem: str) -> None:
    assert [error.problem for error in gather(text).problems] == [problem]


def test_workloads_around_that_cannot_be_read_are_problems_and_not_findings() -> None:
    gathered = gather("", neighbours=world.DEPLOYMENT.replace("maxSkew: 1", "maxSkew: '1'"))

    assert len(gathered.problems) == 1
    assert gathered.snapshot.unreadable == []


def test_objects_that_name_no_namespace_are_in_the_default_one() -> None:
    text = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {app: a}}}"

    assert gather(text).snapshot.services[0].namespace == "default"


def test_namespaces_carry_their_name_as_a_label() -> None:
    (namespace,) = gather(
        "{apiVersion: v1, kind: Namespace, metadata: {name: a}}"
    ).snapshot.namespaces

    assert namespace.labels == {"kubernetes.io/metadata.name": "a"}


def test_parts_of_a_patch_are_not_judged() -> None:
    text = world.DEPLOYMENT.replace("maxSkew: 1", "$patch: delete")

    (workload,) = gather(text).snapshot.workloads

    assert workload.subject.unjudged == {0}


def test_other_kinds_are_passed_over() -> None:
    assert gather("{apiVersion: v1, kind: Secret, metadata: {name: a}}").snapshot.workloads == []


UNREADABLE = {
    "a field of the pod template": (
        "spec: {template: {spec: {topologySpreadConstraints: [{maxSkew: '1'}]}}}",
        "spec.template.spec.topologySpreadConstraints[0].maxSkew",
    ),
    "a field of the metadata": (
        "metadata: {name: a, labels: []}\nspec: {template: {}}",
        "metadata.labels",
    ),
    "the specification itself": ("spec: []", "spec"),
    "metadata that are a list": ("metadata: []\nspec: {template: {}}", "metadata"),
}


@pytest.mark.parametrize(("fields", "path"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_type_error_of_a_workload_is_recorded_with_its_path(fields: str, path: str) -> None:
    collected = gather(f"apiVersion: apps/v1\nkind: Deployment\n{fields}\n")

    (unreadable,) = collected.snapshot.unreadable
    assert (unreadable.field, collected.problems) == (path, [])
    assert collected.snapshot.workloads == []


def test_a_controller_without_a_name_selects_for_no_owner() -> None:
    controller = "{apiVersion: apps/v1, kind: ReplicaSet, spec: {template: {}, selector: {}}}"

    collected = gather(controller)

    assert (collected.snapshot.owners, collected.problems) == ([], [])
    (workload,) = collected.snapshot.workloads
    assert workload.subject.namespace == "default"
