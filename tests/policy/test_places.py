from typing import Any

import msgspec
import pytest

from tests.build import Json, job_set, spread
from webhook.policy.kinds import JOB_SET, LEADER_WORKER_SET, SHIPPED_TEMPLATES
from webhook.policy.model import LabelSelector, PodTemplate
from webhook.policy.paths import FieldPath
from webhook.policy.places import (
    ENTRIES,
    MOST_TEMPLATES,
    TemplatePatterns,
    TemplatePlaces,
    as_pattern,
    find_old_place,
    find_places,
    fits_pattern,
    format_places,
    list_patterns,
    template_at,
    wrap_bare_list,
)

JOBS = SHIPPED_TEMPLATES[JOB_SET]
GROUPS = SHIPPED_TEMPLATES[LEADER_WORKER_SET]
NONE: list[Json] = []
BARE = ("spec", "topologySpreadConstraints")


def job(index: int) -> FieldPath:
    """The path of the pod template of a replicated job."""
    return ("spec", "replicatedJobs", index, "template", "spec", "template")


def test_a_pattern_stands_for_the_other_entries_too() -> None:
    assert as_pattern(job(3)) == list_patterns(JOBS)[0]


FOUND: dict[str, tuple[Any, TemplatePlaces, list[FieldPath]]] = {
    "one path, which exists": ({"spec": {"pod": {}}}, ("spec", "pod"), [("spec", "pod")]),
    "one path, which does not exist": ({}, ("spec", "template"), [("spec", "template")]),
    "the object itself": ({}, (), [()]),
    "every entry of a list": (job_set(a=[], b=[]), JOBS, [job(0), job(1)]),
    "an entry without a template": ({"spec": {"replicatedJobs": [{}, None]}}, JOBS, []),
    "no list": ({"spec": None}, JOBS, []),
    "no object": (None, JOBS, []),
    "several members": (
        {"spec": {"leaderWorkerTemplate": {"workerTemplate": {}, "leaderTemplate": {}}}},
        GROUPS,
        [
            ("spec", "leaderWorkerTemplate", "leaderTemplate"),
            ("spec", "leaderWorkerTemplate", "workerTemplate"),
        ],
    ),
    "lists in a list": (
        {"a": [[{"t": {}}], [], [None, {"t": {}}]]},
        TemplatePatterns((("a", ENTRIES, ENTRIES, "t"),)),
        [("a", 0, 0, "t"), ("a", 2, 1, "t")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("value", "places", "found"), FOUND.values(), ids=FOUND.keys())
def test_the_places_of_an_object(
    value: Any, places: TemplatePlaces, found: list[FieldPath]
) -> None:
    assert list(find_places(value, places)) == found


WRONG: dict[str, tuple[Any, TemplatePlaces, str]] = {
    "an object for a list": (
        {"spec": {"replicatedJobs": {}}},
        JOBS,
        "Expected `array`, got `object` - at `$.spec.replicatedJobs`",
    ),
    "a text for an object": (
        {"spec": {"replicatedJobs": [{"template": "x"}]}},
        JOBS,
        "Expected `object`, got `str` - at `$.spec.replicatedJobs[0].template`",
    ),
    "a list for the object itself": ([], JOBS, "Expected `object`, got `array`"),
    "a number on a path without lists": (
        {"spec": 1},
        ("spec", "template"),
        "Expected `object`, got `int` - at `$.spec`",
    ),
    "too many templates": (
        job_set(**{f"j{number}": NONE for number in range(MOST_TEMPLATES + 1)}),
        JOBS,
        f"Expected at most {MOST_TEMPLATES} pod templates",
    ),
}


@pytest.mark.parametrize(("value", "places", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_type_on_a_path_is_an_error(
    value: Any, places: TemplatePlaces, message: str
) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        find_places(value, places)

    assert str(caught.value) == message


OLD: dict[str, tuple[Any, Any, FieldPath]] = {
    "the same index without names": ({"spec": {"replicatedJobs": [{}, {}]}}, job_set(a=[]), job(1)),
    "the entry with the same name": (job_set(a=[], b=[]), job_set(x=[], y=[], b=[]), job(2)),
    "beyond the list for a new name": (job_set(a=[], b=[]), job_set(a=[]), job(1)),
    "the same index without an old object": (job_set(a=[], b=[]), None, job(1)),
}


@pytest.mark.parametrize(("new", "old", "place"), OLD.values(), ids=OLD.keys())
def test_entries_correspond_by_name(new: Any, old: Any, place: FieldPath) -> None:
    assert find_old_place(new, old, job(1)) == place


def test_a_template_of_a_list_is_decoded() -> None:
    found = template_at(job_set(a=[], b=[spread()]), job(1), PodTemplate)

    assert found is not None
    assert (found.labels, len(found.constraints)) == ({"job": "b"}, 1)


def test_a_bare_list_is_a_template_without_labels() -> None:
    found = template_at({"spec": {BARE[-1]: [spread()]}}, BARE, PodTemplate)

    assert found is not None
    assert (found.metadata, len(found.constraints)) == (None, 1)
    assert template_at({"spec": {}}, BARE, PodTemplate) is None


def test_an_operator_creates_a_selector_that_is_missing() -> None:
    own = {"additionalLabelSelectors": "OnResource"}
    entries = [spread(labelSelector=None) | own, spread(labelSelector=None), 3]

    found = template_at({"spec": {BARE[-1]: entries[:2]}}, BARE, PodTemplate)

    assert found is not None
    assert [one.label_selector for one in found.constraints] == [LabelSelector(), None]
    with pytest.raises(msgspec.ValidationError):
        template_at({"spec": {BARE[-1]: entries}}, BARE, PodTemplate)


TYPE_ERRORS: dict[str, tuple[Any, FieldPath, str]] = {
    "in a template": (
        job_set(a=[spread(maxSkew="1")]),
        job(0),
        "$.spec.replicatedJobs[0].template.spec.template.spec.topologySpreadConstraints[0].maxSkew",
    ),
    "in a bare list": (
        {"spec": {BARE[-1]: [spread(maxSkew="1")]}},
        BARE,
        "$.spec.topologySpreadConstraints[0].maxSkew",
    ),
    "a bare list itself": ({"spec": {BARE[-1]: {}}}, BARE, "$.spec.topologySpreadConstraints"),
    "a pod": ({"spec": []}, (), "$.spec"),
}


@pytest.mark.parametrize(("value", "place", "path"), TYPE_ERRORS.values(), ids=TYPE_ERRORS.keys())
def test_a_type_error_names_its_path_in_the_object(value: Any, place: FieldPath, path: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        template_at(value, place, PodTemplate)

    assert str(caught.value).endswith(f" - at `{path}`")


def test_paths_are_written_as_in_the_configuration() -> None:
    assert format_places(JOBS) == ["spec.replicatedJobs[*].template.spec.template"]
    assert format_places(()) == [""]
    assert format_places(BARE) == ["spec.topologySpreadConstraints"]


WRAPPED: dict[str, tuple[bytes, FieldPath, bytes]] = {
    "a bare list": (b"[1]", BARE, b'{"spec":{"topologySpreadConstraints":[1]}}'),
    "a selector that an operator creates": (
        b'[{"additionalLabelSelectors":"OnShard"}]',
        BARE,
        (
            b'{"spec":{"topologySpreadConstraints":'
            b'[{"additionalLabelSelectors":"OnShard","labelSelector":{}}]}}'
        ),
    ),
    "a selector that is written": (
        b'[{"additionalLabelSelectors":"OnShard","labelSelector":{"a":1}}]',
        BARE,
        (
            b'{"spec":{"topologySpreadConstraints":'
            b'[{"additionalLabelSelectors":"OnShard","labelSelector":{"a":1}}]}}'
        ),
    ),
    "a type error": (
        b'[1,"additionalLabelSelectors"]',
        BARE,
        b'{"spec":{"topologySpreadConstraints":[1,"additionalLabelSelectors"]}}',
    ),
    "no list": (b"null", BARE, b"null"),
    "a pod template": (b"{}", ("spec", "template"), b"{}"),
}


@pytest.mark.parametrize(("value", "place", "wrapped"), WRAPPED.values(), ids=WRAPPED.keys())
def test_a_bare_list_becomes_the_template_around_it(
    value: bytes, place: FieldPath, wrapped: bytes
) -> None:
    assert bytes(wrap_bare_list(msgspec.Raw(value), place)) == wrapped


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (job(3), True),
        (job(3)[:-1], False),
        (("spec", "replicatedJobs", "x", "template", "spec", "template"), False),
        (("spec", "template"), False),
        ((), False),
    ],
)
def test_a_place_that_fits_a_pattern(place: FieldPath, *, expected: bool) -> None:
    (pattern,) = list_patterns(JOBS)

    assert fits_pattern(place, pattern) is expected
