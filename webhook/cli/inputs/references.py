"""
Objects whose pod template is in another object: an Argo Rollout with ``workloadRef``.

Entry points: ``follow_reference`` for ``explain``, ``TemplateFinder`` for ``review``. The pods of
such a Rollout have the template of a Deployment, and the Rollout's own number of replicas.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.audit.references import decode_reference
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.kindnames import Templates
from webhook.cli.inputs.livecluster import PLACES
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.cluster.lists import read_object
from webhook.cluster.protocol import ApiClient
from webhook.errors import SourceError
from webhook.manifests import Document
from webhook.policy.kinds import POD
from webhook.policy.model import GroupKind
from webhook.policy.nesting import decode_nested
from webhook.policy.paths import FieldPath, find_value, is_object

ObjectFinder: TypeAlias = Callable[[GroupKind, str, str], dict[str, Any] | None]
"""Finds the object of a kind, namespace and name; None if it is unknown."""


def follow_reference(
    subject: ExplainSubject, templates: Templates, find: ObjectFinder
) -> ExplainSubject:
    """
    Return a subject with the template that it refers to; the subject itself if it refers to none.

    Raises:
        SourceError: The object that it refers to is not known, or has no pod template.
    """
    if subject.kind == POD or find_value(subject.value, subject.path) is not None:
        return subject
    try:
        target = decode_reference(msgspec.json.encode(subject.value), subject.kind)
    except msgspec.DecodeError:
        return subject  # reading its template reports the type error
    if target is None:
        return subject
    held = find(target.target, subject.namespace, target.template)
    places = templates.get(target.target)
    template = held and isinstance(places, tuple) and find_value(held, places)
    if held is None or not is_object(template):
        named = f"{target.target.kind}/{target.template}"
        problem = f"its pod template is in {named}, which is unknown: name its file with --facts"
        raise SourceError(str(subject), problem)
    spec = subject.value["spec"]
    selector = spec.get("selector") or find_value(held, ("spec", "selector"))
    complete = {**spec, "template": template, "selector": selector}
    return replace(subject, value={**subject.value, "spec": complete})


class TemplateFinder:
    """Pod templates of documents and of a live cluster, which is read on demand."""

    def __init__(
        self, documents: Iterable[Document], templates: Templates, live: ServerOptions | None
    ) -> None:
        """
        Index the documents that have a pod template.

        Args:
            documents: With their namespaces; of two with the same name, the later one counts.
            templates: Where the objects of each kind hold pod templates.
            live: The live cluster; None for none.
        """
        self._templates, self._live = templates, live
        self._values = {
            (item.group_kind, item.namespace, item.name): item.value
            for item in documents
            if item.group_kind in templates
        }

    def complete(self, document: Document, path: FieldPath) -> Document:
        """
        Give an object the template that it refers to; return it unchanged if it refers to none.

        Args:
            path: Where it would have a template of its own.

        Raises:
            SourceError: The template is unknown, or cannot be read.
        """
        subject = ExplainSubject(
            document.group_kind, path, document.namespace, document.value, exists=False
        )
        found = follow_reference(subject, self._templates, self._find)
        return document if found is subject else replace(document, value=found.value)

    def _find(self, kind: GroupKind, namespace: str, name: str) -> dict[str, Any] | None:
        found = self._values.get((kind, namespace, name))
        place = PLACES.get(kind)
        if found is not None or self._live is None or place is None:
            return found

        async def read(api: ApiClient) -> bytes | None:
            return await read_object(api, place, namespace, name)

        data = apiserver.call(self._live, read)
        return None if data is None else decode_nested(msgspec.json.decode, data)
