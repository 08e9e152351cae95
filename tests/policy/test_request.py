import pytest
from msgspec.structs import replace

from tests.build import (
    custom,
    deployment,
    kind_of,
    owned_by,
    pod,
    request,
    spread,
    template,
    workload,
)
from webhook.policy.model import GroupKind, ObjectMeta
from webhook.policy.request import AdmissionRequest

REPLICA_SET = GroupKind("apps", "ReplicaSet")
CREATED = request(pod())

QUESTIONS = {
    "a pod is created": (CREATED, (True, True, False)),
    "a pod is updated": (request(pod(), old=pod()), (False, True, False)),
    "a Deployment is created": (request(deployment()), (False, True, False)),
    "a custom kind is created": (custom(deployment()), (False, False, False)),
    "a pod of a controller is not controlled": (
        request(pod(owner=owned_by())),
        (True, True, False),
    ),
    "a ReplicaSet of a Deployment is controlled": (
        request(workload(REPLICA_SET, owner=owned_by("Deployment"))),
        (False, True, True),
    ),
    "an owner that is no controller does not count": (
        request(workload(REPLICA_SET, owner=owned_by("Deployment", controller=False))),
        (False, True, False),
    ),
    "an object without metadata is not controlled": (
        replace(request(deployment()), metadata=None),
        (False, True, False),
    ),
}


@pytest.mark.parametrize(("decoded", "expected"), QUESTIONS.values(), ids=QUESTIONS.keys())
def test_a_request_knows(decoded: AdmissionRequest, expected: tuple[bool, bool, bool]) -> None:
    assert (
        decoded.creates_pod,
        decoded.built_in,
        decoded.controlled,
    ) == expected


NAMES = {
    "the request's own": ("web-1", ObjectMeta(name="x"), "web-1"),
    "else the object's": ("", ObjectMeta(name="web-2", generate_name="web-"), "web-2"),
    "else the prefix of a name to be made": ("", ObjectMeta(generate_name="web-"), "web-"),
    "else nothing": ("", None, ""),
}


@pytest.mark.parametrize(("name", "metadata", "shown"), NAMES.values(), ids=NAMES.keys())
def test_a_request_is_shown_by_a_name(name: str, metadata: ObjectMeta | None, shown: str) -> None:
    assert replace(CREATED, name=name, metadata=metadata).shown_name == shown


def test_an_update_has_an_old_list() -> None:
    old = pod(spread())

    assert request(pod(), old=old).old_constraints == template(old).constraints
    assert request(pod(), old=pod()).old_constraints == ()


def test_a_create_has_none() -> None:
    assert request(pod()).old_constraints is None


def test_the_kind_of_an_object_has_its_group() -> None:
    assert kind_of(deployment()) == GroupKind("apps", "Deployment")
