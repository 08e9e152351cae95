"""
Pod templates that objects refer to, and that no source has: an Argo Rollout with ``workloadRef``.

``TemplateReferences`` is the entry point. A note
reports that nothing judges the constraints of such pods.
"""

from collections.abc import Container, Iterator
from typing import TypeAlias

from webhook.cli.inputs.notes import limit_notes
from webhook.manifests import Document
from webhook.policy.kinds import DEFAULT_NAMESPACE, DEPLOYMENT, POD_TEMPLATE, REPLICA_SET, ROLLOUT
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import find_value, is_object

TemplateKey: TypeAlias = tuple[str, GroupKind, str]
"""Namespace, kind and name of an object with a pod template."""

UNKNOWN_TEMPLATES = "references to unknown pod templates"

_REFERRED = frozenset({DEPLOYMENT, REPLICA_SET, POD_TEMPLATE})  # kinds that Argo Rollouts knows


class TemplateReferences:
    """The references of objects, and the templates among the objects."""

    def __init__(self) -> None:
        """Start without an object."""
        self._templates: set[TemplateKey] = set()
        self._referring: list[tuple[str, TemplateKey]] = []

    def add(self, document: Document) -> None:
        """Add an object."""
        kind, namespace = document.group_kind, document.namespace or DEFAULT_NAMESPACE
        if kind in _REFERRED:
            self._templates.add((namespace, kind, document.name))
        elif kind == ROLLOUT:
            target = find_value(document.value, ("spec", "workloadRef"))
            has_template = find_value(document.value, ("spec", "template")) is not None
            if is_object(target) and not has_template:
                name = f"{document.kind} {namespace}/{document.name}"
                referred = GroupKind(
                    group_of(str(target.get("apiVersion") or "")), str(target.get("kind") or "")
                )
                key = namespace, referred, str(target.get("name") or "")
                self._referring.append((f"{document.place()}: {name}", key))

    def note_unknown(
        self, others: Container[TemplateKey] = (), namespace: str = ""
    ) -> Iterator[str]:
        """
        Write a note for each reference to a template that is unknown.

        Args:
            others: Templates of other sources.
            namespace: The only namespace whose objects are judged; empty for all.
        """
        unknown = [
            describe_unknown(name, key)
            for name, key in self._referring
            if key not in self._templates and key not in others and namespace in ("", key[0])
        ]
        return limit_notes(unknown, UNKNOWN_TEMPLATES)


def describe_unknown(name: str, key: TemplateKey) -> str:
    """Describe a reference to an unknown template; ``name`` is the object that refers to it."""
    _, kind, template = key
    return (
        f"note: {name}: its pod template is in {kind.kind}/{template}, which is unknown, so that "
        "the constraints of its pods are not judged"
    )
