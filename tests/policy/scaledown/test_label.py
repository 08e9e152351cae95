from typing import Any

import pytest

from tests.build import NAMESPACE, FakeFacts, Json, owned_by, pod, spread, template
from webhook.policy.model import LabelSelector, LabelSelectorRequirement, PodTemplate
from webhook.policy.scaledown.label import RANKED_OWNERS, needs_label
from webhook.policy.scaledown.ranks import DELETION_COST, KEEP_SPREAD, SCALE_DOWN_LABEL

UNLABELLED: Json = {"key": SCALE_DOWN_LABEL, "operator": "DoesNotExist"}


def owned(kind: str = "ReplicaSet", *constraints: Json, **changes: Any) -> PodTemplate:
    """A pod with a controller of a kind."""
    changes.setdefault("owner", owned_by(kind))
    return template(pod(*constraints, **changes))


PODS: dict[str, tuple[PodTemplate, bool]] = {
    "a ReplicaSet controls it": (owned(), True),
    "a ReplicationController controls it": (owned("ReplicationController"), True),
    "it has no labels yet": (owned(labels={}), True),
    "it has annotations": (owned(annotations={"a": "b"}), True),
    "nothing controls it": (template(pod()), False),
    "an owner that is no controller": (owned(owner=owned_by(controller=False)), False),
    "a StatefulSet controls it": (owned("StatefulSet"), False),
    "a Job controls it": (owned("Job"), False),
    "a ReplicaSet of another group": (
        owned(owner=owned_by(apiVersion="apps.kruise.io/v1alpha1")),
        False,
    ),
    "a ReplicationController of another group": (
        owned(owner=owned_by("ReplicationController", apiVersion="apps/v1")),
        False,
    ),
    "it is labelled already": (owned(labels={SCALE_DOWN_LABEL: KEEP_SPREAD}), False),
    "its author opted out": (owned(labels={SCALE_DOWN_LABEL: "none"}), False),
    "its author set a cost": (owned(annotations={DELETION_COST: "7"}), False),
    "its author set an empty cost": (owned(annotations={DELETION_COST: ""}), False),
    "a constraint counts by another label": (
        owned("ReplicaSet", spread(matchLabelKeys=["app"])),
        True,
    ),
    "a constraint merges the label": (
        owned("ReplicaSet", spread(), spread(matchLabelKeys=[SCALE_DOWN_LABEL])),
        False,
    ),
    "a constraint counts pods with the label": (
        owned("ReplicaSet", spread(labelSelector={"matchLabels": {SCALE_DOWN_LABEL: "x"}})),
        False,
    ),
    "a constraint counts pods without the label": (
        owned("ReplicaSet", spread(labelSelector={"matchExpressions": [UNLABELLED]})),
        False,
    ),
    "it has no metadata": (PodTemplate(), False),
}


@pytest.mark.parametrize(("created", "expected"), PODS.values(), ids=PODS.keys())
def test_a_pod_needs_the_label_if(created: PodTemplate, expected: bool) -> None:
    assert needs_label(created, NAMESPACE, FakeFacts()) is expected


SELECTORS = {
    "selects by other labels": (LabelSelector({"app": "web"}), True),
    "selects pods without the label": (
        LabelSelector({}, (LabelSelectorRequirement(SCALE_DOWN_LABEL, "DoesNotExist"),)),
        False,
    ),
    "selects by another expression": (
        LabelSelector({}, (LabelSelectorRequirement("app", "Exists"),)),
        True,
    ),
}


@pytest.mark.parametrize(("selector", "expected"), SELECTORS.values(), ids=SELECTORS.keys())
def test_no_controller_loses_its_pod_to_the_label(selector: LabelSelector, expected: bool) -> None:
    known = FakeFacts(owners={(NAMESPACE, "apps/v1", "ReplicaSet", "web-54f7"): selector})

    assert needs_label(owned(), NAMESPACE, known) is expected


def test_the_controllers_that_heed_a_cost_are_two() -> None:
    assert sorted(map(str, RANKED_OWNERS)) == ["ReplicaSet.apps", "ReplicationController"]
