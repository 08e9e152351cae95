"""
What `explain` says of the fields of workloads is what a real kube-apiserver replies.

Nothing is stored: all requests are dry runs.
"""

from copy import deepcopy

import pytest

from tests.controlplane.api import Json, Reply
from tests.controlplane.plane import ControlPlane
from tests.e2e.objects import workload
from tests.policy.api import fieldcases
from tests.policy.api.fieldcases import LABELS, RefusedSpec
from webhook.policy.api.scalefields import find_scale_errors
from webhook.policy.api.selectorfields import find_selector_errors
from webhook.policy.kinds import CRON_JOB, DEPLOYMENT, JOB
from webhook.policy.model import GroupKind

REFUSED = fieldcases.STRATEGIES | fieldcases.NUMBERS | fieldcases.JOBS | fieldcases.SELECTORS
ACCEPTED = (
    *fieldcases.ACCEPTED_STRATEGIES.values(),
    *fieldcases.ACCEPTED_JOBS.values(),
    *fieldcases.ACCEPTED_SELECTORS.values(),
)


def build(kind: GroupKind, spec: Json) -> Json:
    """A valid object with other members of its specification."""
    obj = deepcopy(workload(kind.kind, "web", "default", LABELS))
    held = obj["spec"]["jobTemplate"]["spec"] if kind == CRON_JOB else obj["spec"]
    template = {**held["template"], **spec.get("template", {})}
    held |= {**spec, "template": template}
    return obj


def post(plane: ControlPlane, obj: Json) -> Reply:
    path = plane.api.collection_of(obj)
    return plane.api.request("POST", path, obj, query={"dryRun": "All"})


def find_errors(kind: GroupKind, obj: Json) -> list[tuple[str, str]]:
    return [*find_scale_errors(kind, obj), *find_selector_errors(kind, obj)]


def causes(reply: Reply) -> list[tuple[str, str]]:
    assert reply.status == 422
    return sorted((cause["field"], cause["message"]) for cause in reply.body["details"]["causes"])


def is_said(cause: tuple[str, str], error: tuple[str, str]) -> bool:
    """Whether an error has the field and the words of a cause, before what to write."""
    words = cause[1].rstrip(": ")  # a value that is missing has no words of its own
    return error[0] == cause[0] and error[1].startswith(words)


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_the_words_are_those_of_kube_apiserver(
    control_plane: ControlPlane, case: RefusedSpec
) -> None:
    obj = build(case.kind, case.spec)

    found = sorted(find_errors(case.kind, obj))

    assert found == sorted(case.errors)
    replied = causes(post(control_plane, obj))
    assert len(replied) == len(found), replied
    for cause, error in zip(replied, found, strict=True):
        assert is_said(cause, error), (cause, error)


@pytest.mark.parametrize("case", fieldcases.JOBS.values(), ids=fieldcases.JOBS.keys())
def test_the_job_of_a_cron_job_has_the_same_errors(
    control_plane: ControlPlane, case: RefusedSpec
) -> None:
    obj = build(CRON_JOB, case.spec)

    found = sorted(find_errors(CRON_JOB, obj))

    for cause, error in zip(causes(post(control_plane, obj)), found, strict=True):
        assert is_said(cause, error), (cause, error)


@pytest.mark.parametrize(
    "case", fieldcases.UNKNOWN_TYPES.values(), ids=fieldcases.UNKNOWN_TYPES.keys()
)
def test_an_unknown_type_is_reported_at_its_field(
    control_plane: ControlPlane, case: RefusedSpec
) -> None:
    obj = build(case.kind, case.spec)

    ((field, message),) = find_errors(case.kind, obj)

    ((strategy, replied),) = causes(post(control_plane, obj))
    assert field == f"{strategy}.type"
    _, _, listed = message.rpartition("supported values: ")
    for name in listed.split(", "):
        assert name.strip('"') in replied


def test_an_invalid_selector_is_also_refused_as_a_whole(control_plane: ControlPlane) -> None:
    obj = build(DEPLOYMENT, fieldcases.INVALID_SELECTOR)

    found = find_errors(DEPLOYMENT, obj)

    fields = ["spec.selector", "spec.selector.matchExpressions[0].operator"]
    replied = causes(post(control_plane, obj))
    assert [field for field, _ in replied] == fields
    assert found == replied[1:]


def test_what_is_accepted_has_no_errors(control_plane: ControlPlane) -> None:
    for kind, spec in ACCEPTED:
        obj = build(kind, spec)
        reply = post(control_plane, obj)
        assert reply.status == 201, reply.body
        assert find_errors(kind, obj) == []


def test_a_job_needs_no_selector(control_plane: ControlPlane) -> None:
    obj = build(JOB, {"parallelism": 3})

    assert post(control_plane, obj).status == 201
    assert find_errors(JOB, obj) == []


def test_a_number_in_place_of_a_label_is_refused(control_plane: ControlPlane) -> None:
    obj = build(DEPLOYMENT, fieldcases.selecting({"matchLabels": {"app": 1}}, LABELS))

    (error,) = find_errors(DEPLOYMENT, obj)

    reply = post(control_plane, obj)
    assert reply.status == 400
    assert "spec.selector.matchLabels of type string" in reply.body["message"]
    assert error[0] == "spec.selector.matchLabels.app"
