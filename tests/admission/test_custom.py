"""Custom kinds with several pod templates, and with bare lists of constraints."""

from typing import Any

import msgspec
import pytest

from tests.build import Json, job_set, pod, review_body, spread
from webhook.admission import decode
from webhook.admission.custom import ADVISED_TEMPLATES, decode_custom
from webhook.policy.kinds import BUILT_IN_TEMPLATES, JOB_SET, SHIPPED_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.places import MOST_TEMPLATES
from webhook.policy.request import AdmissionRequest

CLUSTER = GroupKind("postgresql.cnpg.io", "Cluster")
BARE = ("spec", "topologySpreadConstraints")
TEMPLATES = {**BUILT_IN_TEMPLATES, **SHIPPED_TEMPLATES, CLUSTER: BARE}


def decoded(obj: Json | None, old: Json | None = None, **changes: Any) -> AdmissionRequest:
    return decode(review_body(obj, old, kind=JOB_SET, **changes), TEMPLATES)


def job(index: int) -> tuple[str | int, ...]:
    return ("spec", "replicatedJobs", index, "template", "spec", "template")


def test_there_is_a_request_for_each_template() -> None:
    first = decoded(job_set(a=[spread()], b=[], c=[spread(), spread()]))

    requests = (first, *first.siblings)
    assert [one.path for one in requests] == [job(0), job(1), job(2)]
    assert [len(one.template.constraints) for one in requests if one.template] == [1, 0, 2]
    assert {one.shown_name for one in requests} == {"web-1"}
    assert all(one.metadata == first.metadata for one in requests)


def test_a_template_is_compared_with_that_of_the_entry_of_the_same_name() -> None:
    new = job_set(added=[], a=[spread()])

    first = decoded(new, job_set(a=[spread()]))

    added, same = first, *first.siblings

    assert (added.old, added.old_path) == (None, job(1))
    assert same.old == same.template
    assert same.old_path == job(0)


def test_an_object_without_templates_has_none() -> None:
    found = decoded({"metadata": {"name": "train"}, "spec": {}})

    assert (found.path, found.template, found.siblings, found.unreadable) == ((), None, (), "")


def test_only_the_first_templates_get_advice() -> None:
    jobs: dict[str, list[Json]] = {f"j{number}": [] for number in range(ADVISED_TEMPLATES + 1)}

    first = decoded(job_set(**jobs))

    *advised, last = first, *first.siblings

    assert all(one.body for one in advised)
    assert last.body == b""


WRONG: dict[str, tuple[Any, str]] = {
    "a type error in the second template": (
        job_set(a=[], b=[spread(maxSkew="1")]),
        (
            "Expected int, got str - at $.spec.replicatedJobs[1].template.spec.template"
            ".spec.topologySpreadConstraints[0].maxSkew"
        ),
    ),
    "an object for the list": (
        {"spec": {"replicatedJobs": {}}},
        "Expected array, got object - at $.spec.replicatedJobs",
    ),
    "too many templates": (
        job_set(**{f"j{number}": list[Json]() for number in range(MOST_TEMPLATES + 1)}),
        f"Expected at most {MOST_TEMPLATES} pod templates",
    ),
}


@pytest.mark.parametrize(("obj", "message"), WRONG.values(), ids=WRONG.keys())
def test_an_object_that_cannot_be_read(obj: Any, message: str) -> None:
    found = decoded(obj, obj)

    assert (found.unreadable, found.old_unreadable) == (message, True)


def test_a_bare_list_is_read() -> None:
    body = review_body({"spec": {BARE[-1]: [spread()]}}, kind=CLUSTER)

    found = decode(body, TEMPLATES)

    assert found.path == BARE
    assert found.template is not None
    assert (found.template.metadata, len(found.template.constraints)) == (None, 1)


def test_an_object_is_decoded_without_a_review() -> None:
    identified = AdmissionRequest(uid="1", kind=CLUSTER, operation="CREATE")
    raw = msgspec.Raw(msgspec.json.encode({"spec": {"template": pod(spread())}}))

    found = decode_custom(identified, raw, msgspec.Raw(b"null"), ("spec", "template"))

    assert found.template is not None
    assert found.old is None
