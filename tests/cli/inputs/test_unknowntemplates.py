"""Notes about references to pod templates that no source has."""

import pytest

from tests.cli.files import REFERRING_ROLLOUT as ROLLOUT
from tests.cli.inputs.manifestclusters import documents
from webhook.cli.inputs.unknowntemplates import (
    TemplateKey,
    TemplateReferences,
)
from webhook.policy.kinds import DEPLOYMENT

DEPLOYMENT_WEB = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
"""
NOTE = (
    "note: x:1: Rollout shop/front: its pod template is in Deployment/web, which is unknown, so "
    "that the constraints of its pods are not judged"
)

# objects -> the notes about them
NOTES: dict[str, tuple[str, list[str]]] = {
    "no Deployment": (ROLLOUT, [NOTE]),
    "its Deployment": (ROLLOUT + DEPLOYMENT_WEB, []),
    "a Deployment of another namespace": (
        ROLLOUT + DEPLOYMENT_WEB.replace("shop", "other"), [NOTE]
    ),
    "another kind of this name": (ROLLOUT + DEPLOYMENT_WEB.replace("Deploy", "Data"), [NOTE]),
    "a template of its own": (ROLLOUT.replace("workloadRef: {", "template: {}\n  other: {"), []),
    "both": (ROLLOUT + "  template: {spec: {}}\n", []),
    "no namespace": (
        ROLLOUT.replace(", namespace: shop", "") + DEPLOYMENT_WEB.replace("shop", "default"), []
    ),
    "a reference without a name": (
        ROLLOUT.replace(", name: web}", "}"), [NOTE.replace("Deployment/web", "Deployment/")]
    ),
    "a reference of another type": (ROLLOUT.replace("{apiVersion: apps/v1", "[{x: 1") + "]", []),
}  # fmt: skip


def references(text: str) -> TemplateReferences:
    found = TemplateReferences()
    for document in documents(text.replace("name: web}\n]", "name: web}]\n")):
        found.add(document)
    return found


@pytest.mark.parametrize(("text", "notes"), NOTES.values(), ids=NOTES.keys())
def test_an_unknown_template_is_noted(text: str, notes: list[str]) -> None:
    found = [note.replace("shop.yaml", "x") for note in references(text).note_unknown()]

    assert found == notes


def test_templates_of_other_sources_are_known() -> None:
    key: TemplateKey = ("shop", DEPLOYMENT, "web")

    assert list(references(ROLLOUT).note_unknown({key})) == []


def test_other_namespaces_get_no_notes() -> None:
    found = references(ROLLOUT)

    assert list(found.note_unknown(namespace="other")) == []
    assert len(list(found.note_unknown(namespace="shop"))) == 1
