from typing import Any

import pytest

from tests.build import pod, template
from webhook.policy.api.versions import Version
from webhook.policy.gangs import gang_field, group_name, is_known
from webhook.policy.model import PodTemplate

FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "an ordinary pod": ({}, ""),
    "a gang of 1.36": ({"schedulingGroup": {"podGroupName": "a"}}, "schedulingGroup"),
    "a gang of 1.35": ({"workloadRef": {"name": "a", "podGroup": "b"}}, "workloadRef"),
    "both": ({"schedulingGroup": {}, "workloadRef": {}}, "schedulingGroup"),
    "null": ({"schedulingGroup": None, "workloadRef": None}, ""),
    "a field of another type": ({"workloadRef": "a"}, "workloadRef"),
}


@pytest.mark.parametrize(("spec", "field"), FIELDS.values(), ids=FIELDS.keys())
def test_a_pod_is_of_a_gang_by(spec: dict[str, Any], field: str) -> None:
    assert gang_field(template(pod(**spec))) == field


@pytest.mark.parametrize(
    ("field", "version", "known"),
    [
        ("schedulingGroup", Version(1, 35), False),
        ("schedulingGroup", Version(1, 36), True),
        ("workloadRef", Version(1, 34), False),
        ("workloadRef", Version(1, 35), True),
    ],
)
def test_the_versions_that_know_a_field(field: str, version: Version, known: bool) -> None:
    assert is_known(field, version) is known


def test_a_pod_without_a_specification_is_of_no_gang() -> None:
    assert gang_field(PodTemplate()) == ""


NAMES: dict[str, tuple[dict[str, Any], str]] = {
    "an ordinary pod": ({}, ""),
    "a gang of 1.36": ({"schedulingGroup": {"podGroupName": "a"}}, "a"),
    "a gang of 1.35": ({"workloadRef": {"name": "a", "podGroup": "b"}}, ""),
    "no name": ({"schedulingGroup": {}}, ""),
    "a null name": ({"schedulingGroup": {"podGroupName": None}}, ""),
    "a name of another type": ({"schedulingGroup": {"podGroupName": 7}}, ""),
    "a field of another type": ({"schedulingGroup": "a"}, ""),
}


@pytest.mark.parametrize(("spec", "name"), NAMES.values(), ids=NAMES.keys())
def test_the_name_of_the_group(spec: dict[str, Any], name: str) -> None:
    assert group_name(template(pod(**spec))) == name


def test_a_pod_without_a_specification_names_no_group() -> None:
    assert group_name(PodTemplate()) == ""
