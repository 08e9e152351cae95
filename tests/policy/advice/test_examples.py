import pytest
import yaml

from tests.build import default, policy, profile
from tests.policy.advice.subjects import documents, from_manifests, subject
from webhook.policy.advice.examples import EXAMPLES, NODES
from webhook.policy.advice.rows import ROWS, Row
from webhook.policy.api.apiserver import list_path
from webhook.policy.api.gates import resolve
from webhook.policy.api.rules import Form, check
from webhook.policy.api.versions import NEWEST
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.workloads import BUILT_IN

BY_ID = {row.id: row for row in ROWS}


def obeyed(rule: str) -> Policy:
    example = EXAMPLES[rule]
    profiles = (profile(constraints=(default(),)),) if example.profile else ()
    return policy(*profiles, gates=resolve(NEWEST, example.gates))


def test_every_rule_has_examples() -> None:
    assert list(EXAMPLES) == list(BY_ID)


def test_the_shared_cluster_has_three_zones_of_two_nodes() -> None:
    zones = [each["metadata"]["labels"]["topology.kubernetes.io/zone"] for each in documents(NODES)]

    assert zones == ["zone-a", "zone-a", "zone-b", "zone-b", "zone-c", "zone-c"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_the_rule_has_something_to_say_about_what_violates_it(row: Row) -> None:
    judged, grounds = from_manifests(EXAMPLES[row.id].violates, obeyed=obeyed(row.id))

    remarks = list(row.check(judged, grounds))

    assert remarks
    for remark in remarks:
        yaml.safe_load(remark.instead)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_the_rule_has_nothing_to_say_about_what_passes(row: Row) -> None:
    judged, grounds = from_manifests(EXAMPLES[row.id].passes, obeyed=obeyed(row.id))

    assert list(row.check(judged, grounds)) == []


@pytest.mark.parametrize("rule", EXAMPLES)
@pytest.mark.parametrize("which", ["violates", "passes"])
def test_the_api_server_takes_every_example(rule: str, which: str) -> None:
    first = documents(getattr(EXAMPLES[rule], which))[0]
    path = BUILT_IN[subject(first).kind]

    assert check(subject(first).constraints, list_path(path), Form(merged=False)) == []
