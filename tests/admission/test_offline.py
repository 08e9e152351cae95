from typing import Any

import msgspec
import pytest

from tests import build
from webhook.admission.offline import build_reviews
from webhook.manifests import Document, parse
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind

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
