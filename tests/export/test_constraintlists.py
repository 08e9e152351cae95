import pytest

from webhook.export.constraintlists import (
    in_all_lists,
    in_all_templates,
    name_list,
    read_lists,
    read_templates,
)
from webhook.policy.paths import LIST_NAME, TemplatePath

LIST = f"spec.{LIST_NAME}"
SELECT = f".?spec.?{LIST_NAME}.orValue([])"

LABELS = ".?metadata.?labels.orValue({})"
INNER = f"[entry1.?b{LABELS}].all(labels, [entry1.?b{SELECT}].all(items, C))"
NESTED = "object.?a.orValue([])"


@pytest.mark.parametrize(
    ("place", "name", "condition", "lists"),
    [
        (
            ("spec", "template"),
            f"spec.template.{LIST}",
            f"[object.?spec.?template{SELECT}].all(items, C)",
            f"object.?spec.?template{SELECT}",
        ),
        (("spec", LIST_NAME), LIST, f"[object{SELECT}].all(items, C)", f"object{SELECT}"),
        (
            ("spec", "jobs", "*", "template"),
            f"spec.jobs[*].template.{LIST}",
            f"object.?spec.?jobs.orValue([]).all(entry0, [entry0.?template{SELECT}].all(items, C))",
            f"object.?spec.?jobs.orValue([]).map(entry0, entry0.?template{SELECT})",
        ),
        (
            ("a", "*", "*", "b"),
            f"a[*][*].b.{LIST}",
            f"{NESTED}.all(entry0, entry0.all(entry1, [entry1.?b{SELECT}].all(items, C)))",
            f"{NESTED}.map(entry0, entry0.map(entry1, entry1.?b{SELECT}))",
        ),
    ],
)
def test_all_lists_of_a_place_are_reached(
    place: TemplatePath, name: str, condition: str, lists: str
) -> None:
    assert name_list(place) == name
    assert in_all_lists(place, "C") == condition
    assert read_lists("object", place) == lists


@pytest.mark.parametrize(
    ("place", "condition", "templates"),
    [
        (
            (),
            f"[object{LABELS}].all(labels, [object{SELECT}].all(items, C))",
            f"[object.?metadata.?labels, object.?spec.?{LIST_NAME}]",
        ),
        (
            ("t",),
            f"[object.?t{LABELS}].all(labels, [object.?t{SELECT}].all(items, C))",
            "object.?t.orValue([])",
        ),
        (
            ("a", "*", "*", "b"),
            f"{NESTED}.all(entry0, entry0.all(entry1, {INNER}))",
            f"{NESTED}.map(entry0, entry0.map(entry1, entry1.?b.orValue([])))",
        ),
    ],
)
def test_all_templates_of_a_place_are_reached(
    place: TemplatePath, condition: str, templates: str
) -> None:
    assert in_all_templates(place, "C") == condition
    assert read_templates("object", place) == templates
