"""A pod template of a manifest is the stored one, or a change of it."""

from typing import Any

import pytest

from webhook.policy.templatematch import is_same_template

LABELS = {"labels": {"app": "web"}}
WRITTEN: dict[str, Any] = {
    "metadata": LABELS,
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "web:1",
                "env": [{"name": "A", "value": "1"}],
                "resources": {"limits": {"memory": "1024Mi"}},
            }
        ],
        "tolerations": [{"key": "x", "operator": "Exists"}],
    },
}
STORED: dict[str, Any] = {
    "metadata": {**LABELS, "creationTimestamp": None},
    "spec": {
        "containers": [
            {
                **WRITTEN["spec"]["containers"][0],
                "imagePullPolicy": "IfNotPresent",
                "resources": {"limits": {"memory": "1Gi"}},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "tolerations": [{"key": "x", "operator": "Exists"}],
    },
}


def change(template: Any, part: str, **members: Any) -> Any:
    """Change members of the metadata, the specification or the container; None removes one."""
    spec = template["spec"]
    (container,) = spec["containers"]
    match part:
        case "metadata":
            return {**template, "metadata": {**template["metadata"], **members}}
        case "spec":
            return {**template, "spec": {**spec, **members}}
        case _:
            return {**template, "spec": {**spec, "containers": [{**container, **members}]}}


def test_a_template_is_the_stored_one_but_for_defaults() -> None:
    assert is_same_template(STORED, WRITTEN)
    assert is_same_template(STORED, STORED)


# changes of the manifest
CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "another image": ("container", {"image": "web:2"}),
    "another variable": ("container", {"env": [{"name": "A", "value": "2"}]}),
    "one variable more": ("container", {"env": [{"name": "A", "value": "1"}, {"name": "B"}]}),
    "no variable": ("container", {"env": None}),
    "another limit": ("container", {"resources": {"limits": {"memory": "2Gi"}}}),
    "no limit": ("container", {"resources": None}),
    "an annotation": ("metadata", {"annotations": {"a": "b"}}),
    "another label": ("metadata", {"labels": {"app": "web", "tier": "front"}}),
    "a default that is changed": ("spec", {"terminationGracePeriodSeconds": 60}),
    "another scheduler": ("spec", {"schedulerName": "other"}),
    "no toleration": ("spec", {"tolerations": []}),
    "one container more": ("spec", {"containers": [*WRITTEN["spec"]["containers"], {"name": "d"}]}),
    "a boolean for a number": ("spec", {"priority": True}),
}


@pytest.mark.parametrize(("part", "members"), CHANGES.values(), ids=CHANGES.keys())
def test_any_change_of_a_template_is_a_new_one(part: str, members: dict[str, Any]) -> None:
    assert not is_same_template(STORED, change(WRITTEN, part, **members))


# what only the stored template has, whether it may be a default
ADDED: dict[str, tuple[str, dict[str, Any], bool]] = {
    "a field that is not known": ("spec", {"newField": "x"}, True),
    "a field of a container that is not known": ("container", {"newField": 1}, True),
    "a field without a default": ("spec", {"nodeSelector": {"a": "b"}}, False),
    "a field of a container without a default": ("container", {"command": ["x"]}, False),
    "the time of a restart": (
        "metadata", {"annotations": {"kubectl.kubernetes.io/restartedAt": "x"}}, True
    ),
    "an annotation": ("metadata", {"annotations": {"a": "b"}}, False),
    "an empty list": ("spec", {"imagePullSecrets": []}, True),
}  # fmt: skip


@pytest.mark.parametrize(("part", "members", "is_same"), ADDED.values(), ids=ADDED.keys())
def test_what_only_the_stored_template_has_is_a_default_if_it_is_not_known(
    part: str, members: dict[str, Any], *, is_same: bool
) -> None:
    assert is_same_template(change(STORED, part, **members), WRITTEN) is is_same


# what only the stored template has; the same part when the manifest was last applied
KEPT: dict[str, tuple[str, dict[str, Any], dict[str, Any], bool]] = {
    "a field of another client": ("spec", {"nodeSelector": {"a": "b"}}, {}, True),
    "a field of the manifest": (
        "spec", {"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "b"}}, False
    ),
    "an annotation of another client": ("metadata", {"annotations": {"a": "b"}}, {}, True),
    "a member of a list of another client": (
        "container", {"env": [{"name": "A", "value": "1"}, {"name": "B"}]}, {}, True
    ),
    "a member of a list of the manifest": (
        "container",
        {"env": [{"name": "A", "value": "1"}, {"name": "B"}]},
        {"env": [{"name": "A", "value": "1"}, {"name": "B"}]},
        False,
    ),
    "a changed value": ("container", {"image": "web:3"}, {}, False),
}  # fmt: skip


@pytest.mark.parametrize(("part", "added", "before", "kept"), KEPT.values(), ids=KEPT.keys())
def test_what_other_clients_added_is_kept_when_a_manifest_is_applied(
    part: str, added: dict[str, Any], before: dict[str, Any], *, kept: bool
) -> None:
    applied = change(WRITTEN, part, **before)

    assert is_same_template(change(STORED, part, **added), WRITTEN, applied) is kept


@pytest.mark.parametrize("key", ["pod-template-hash", "rollouts-pod-template-hash"])
def test_hashes_are_ignored_on_both_sides(key: str) -> None:
    hashed = change(STORED, "metadata", labels={"app": "web", key: "1"})

    assert is_same_template(hashed, WRITTEN)
    assert is_same_template(STORED, change(WRITTEN, "metadata", labels={"app": "web", key: "2"}))


def test_the_order_of_a_list_matters() -> None:
    first, second = {"name": "A"}, {"name": "B"}
    stored = change(STORED, "container", env=[first, second])

    assert not is_same_template(stored, change(WRITTEN, "container", env=[second, first]))


ABRIDGED: dict[str, Any] = {
    "metadata": {"labels": {"app": "web", "pod-template-hash": "1"}},
    "spec": {"tolerations": [{"key": "x", "operator": "Exists", "value": None}]},
}


def test_of_an_abridged_template_only_what_placement_looks_at_is_compared() -> None:
    assert is_same_template(ABRIDGED, WRITTEN)
    assert is_same_template(ABRIDGED, change(WRITTEN, "container", image="web:2"))
    assert not is_same_template(ABRIDGED, change(WRITTEN, "spec", nodeSelector={"a": "b"}))
    assert not is_same_template(ABRIDGED, change(WRITTEN, "metadata", labels={"app": "x"}))
    assert not is_same_template({**ABRIDGED, "spec": {"tolerations": 7}}, WRITTEN)


def test_what_is_no_template_equals_only_itself() -> None:
    assert is_same_template(None, None)
    assert not is_same_template(None, WRITTEN)
    assert not is_same_template(STORED, {"spec": []})
    assert not is_same_template(STORED, {**WRITTEN, "metadata": {"labels": 7}})
