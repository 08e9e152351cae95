"""Reviews of objects in files."""

from typing import Any

import msgspec
import pytest

from tests import build
from webhook.admission.offline import (
    OfflineReview,
    answer_in_turn,
    answer_review,
    build_creation,
    build_reviews,
    follow_up_review,
    unpack_recording,
    update_review,
)
from webhook.manifests import Document, parse
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS, Policy, Profile
from webhook.policy.facts import NoFacts, ServiceSelector
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.request import Hook

# kind, its name in a URL
RESOURCES = {
    "Pod": ("Pod", "pods"),
    "CronJob": ("CronJob", "cronjobs"),
    "a name that ends with s": ("Canvas", "canvases"),
    "a name that ends with y": ("Policy", "policies"),
}


def body_of(obj: dict[str, Any]) -> dict[str, Any]:
    (document,) = parse(msgspec.json.encode(obj).decode(), "x.json")
    assert isinstance(document, Document)
    (review,) = build_reviews([document], {GroupKind(build.kind_of(obj).group, obj["kind"]): ()})
    request: dict[str, Any] = review.body["request"]
    return request


@pytest.mark.parametrize(("kind", "resource"), RESOURCES.values(), ids=RESOURCES.keys())
def test_review_of_a_manifest_names_its_resource(kind: str, resource: str) -> None:
    request = body_of({"apiVersion": "example.io/v1", "kind": kind})

    assert request["resource"] == {"group": "example.io", "version": "v1", "resource": resource}


def test_review_of_a_manifest_is_complete() -> None:
    request = body_of({**build.pod(), "metadata": None})

    assert request["kind"] == {"group": "", "version": "v1", "kind": "Pod"}
    assert (request["operation"], request["namespace"]) == ("CREATE", "default")
    assert request["object"]["metadata"] == {"namespace": "default"}


def test_metadata_of_the_wrong_type_stays_as_it_is() -> None:
    assert body_of({**build.pod(), "metadata": 7})["object"]["metadata"] == 7


@pytest.mark.parametrize("kind", BUILT_IN_TEMPLATES, ids=str)
def test_every_built_in_kind_is_asked_about(kind: GroupKind) -> None:
    assert body_of(build.workload(kind))["requestResource"]["resource"] == f"{kind.kind.lower()}s"


POLICY = Policy(
    gates=resolve(NEWEST_VERSION, {}, allow_locked=False),
    profiles=(Profile(name="cluster", constraints=SYSTEM_CONSTRAINTS),),
)


def reviews_of(value: Any) -> list[OfflineReview]:
    documents = [
        found
        for document in parse(msgspec.json.encode(value).decode(), "x.json")
        if isinstance(document, Document)
        for found in unpack_recording(document)
    ]
    return list(build_reviews(documents, BUILT_IN_TEMPLATES))


def recorded(path: str) -> dict[str, Any]:
    (review,) = reviews_of(build.pod())
    return {"http": {"path": path}, "review": review.body}


@pytest.mark.parametrize(
    ("path", "hook"), [("/mutate", Hook.MUTATE), ("/validating", Hook.VALIDATE)]
)
def test_a_recorded_review_goes_to_the_webhook_that_it_was_sent_to(path: str, hook: Hook) -> None:
    (review,) = reviews_of(recorded(path))

    assert (review.recorded, review.hook) == (True, hook)
    assert review.body == recorded(path)["review"]


def test_a_kind_without_a_pod_template_is_skipped() -> None:
    assert reviews_of({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}) == []


def test_the_second_webhook_gets_the_patched_object() -> None:
    (review,) = reviews_of(build.pod())

    result = answer_review(review, Hook.MUTATE, POLICY, NoFacts())
    second = follow_up_review(review, result)

    assert second.body["request"]["object"] == result.after


def test_webhooks_are_called_in_turn_until_one_denies() -> None:
    (good,) = reviews_of(build.pod())
    (bad,) = reviews_of(build.pod(build.spread(maxSkew=0)))
    both = (Hook.MUTATE, Hook.VALIDATE)

    first, second = answer_in_turn(good, both, POLICY, NoFacts())
    (denial,) = answer_in_turn(bad, both, POLICY, NoFacts())

    assert (first.hook, second.hook) == both
    assert second.before == first.after
    assert (denial.hook, denial.verdict.allowed) == (Hook.MUTATE, False)


def test_a_creation_names_its_creator() -> None:
    (review,) = reviews_of(build.pod())

    created = build_creation(review.document, "1", "Deployment web")

    assert (created.creator, created.body["request"]["uid"]) == ("Deployment web", "1")


def test_an_update_has_the_older_object() -> None:
    (review,) = reviews_of(build.pod())

    update = update_review(review, review.document)

    assert update.body["request"]["operation"] == "UPDATE"
    assert update.body["request"]["oldObject"] == review.body["request"]["object"]


def test_the_patch_of_an_answer_is_decoded_and_applied() -> None:
    (review,) = reviews_of({**build.pod(), "metadata": {"name": "a", "labels": {"app": "a"}}})
    service = ServiceSelector("web", {"app": "a"})
    facts = build.FakeFacts(services_of={"default": [service]})

    result = answer_review(review, Hook.MUTATE, POLICY, facts)

    assert result.review["response"]["patch"]
    assert result.after != result.before
