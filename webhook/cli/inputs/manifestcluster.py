"""
A cluster that manifests describe: ``ManifestCluster``.

``Model`` is any type that its objects can be decoded as.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec

from webhook.cli.clock import current_time
from webhook.cli.inputs.manifests import Inputs
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import complete_metadata, fill
from webhook.config.ownerselectors import OwnerSelector
from webhook.config.spreadpolicies import SPREAD_POLICY
from webhook.manifests import Document, find_type_mismatch
from webhook.policy.kinds import BUILT_IN_KINDS, DEFAULT_NAMESPACE, NAMESPACE_KIND, POD
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import format_path
from webhook.policy.placement.census import ObservedPod

Json: TypeAlias = dict[str, Any]


class ObjectName(Protocol):
    """The metadata of an object, as far as it names the object."""

    @property
    def name(self) -> str | None:
        """Its name."""
        ...

    @property
    def namespace(self) -> str | None:
        """Its namespace."""
        ...


class NamedManifest(Protocol):
    """An object of the API, with its name."""

    @property
    def metadata(self) -> ObjectName | None:
        """Its metadata."""
        ...


Model = TypeVar("Model", bound=NamedManifest)
"""An object of the API, as far as it is read."""


class ManifestCluster:
    """
    A cluster described by manifests.

    Attributes:
        documents: The objects.
        namespace: Namespace of objects that name none.
        is_complete: Whether there are no objects of a kind if none is found: files may lack them.
    """

    is_complete = False

    def __init__(
        self,
        documents: Iterable[Document],
        owners: Iterable[OwnerSelector],
        inputs: Inputs,
        namespace: str = DEFAULT_NAMESPACE,
    ) -> None:
        """
        Index the objects of manifests.

        Args:
            inputs: Receives type errors.
            namespace: Namespace of objects that name none.
        """
        self.documents = list(documents)
        self.namespace = namespace
        self._cluster = Cluster(owners)
        self._cluster.exception_store.clock = current_time
        self._problems = inputs.problems
        self._problems += fill(self._cluster, self.documents, namespace=namespace)
        self._objects: dict[tuple[GroupKind, str], dict[str, Document]] = {}
        self._replaced: dict[tuple[GroupKind, str, str], Json] = {}
        for document in self.documents:
            kind = GroupKind(group_of(document.api_version), document.kind)
            objects = self._objects.setdefault((kind, document.namespace or namespace), {})
            name = document.name or f"{len(objects)}"
            if name in objects:
                self._replaced[kind, document.namespace or namespace, name] = objects[name].value
            objects[name] = document

    def _namespace_of(self, document: Document) -> str:
        """The namespace of an object, or that it is; empty for a kind that is in none."""
        kind = GroupKind(group_of(document.api_version), document.kind)
        if kind == NAMESPACE_KIND:
            return document.name
        if kind == SPREAD_POLICY:
            return ""
        row = BUILT_IN_KINDS.get(kind)
        return document.namespace or (self.namespace if row is None or row.namespaced else "")

    def facts(self, namespace: str) -> Cluster:
        """The facts of all namespaces."""
        del namespace
        return self._cluster

    def pods(self, namespace: str) -> list[ObservedPod]:
        """The pods of a namespace; pods with type errors are left out and reported."""
        return list(self._convert(self._objects.get((POD, namespace), {}).values(), ObservedPod))

    def decode_objects(
        self, kind: GroupKind, model: type[Model], namespace: str = ""
    ) -> list[Model]:
        """Decode the objects of a kind, in a namespace or in all; type errors are reported."""
        documents = [
            document
            for (indexed, inside), found in self._objects.items()
            if indexed == kind and namespace in ("", inside)
            for document in found.values()
        ]
        return list(self._convert(documents, model))

    def _convert(self, documents: Iterable[Document], model: type[Model]) -> Iterator[Model]:
        known = {str(problem) for problem in self._problems}
        for document in documents:
            try:
                yield msgspec.convert(complete_metadata(document, self.namespace), model)
            except msgspec.ValidationError as error:
                wrong = find_type_mismatch(error, document.value)
                message = f"{document.kind}/{document.name}: {format_path(wrong.path)}"
                problem = document.error(f"{message}: {wrong.problem}", wrong.path)
                if str(problem) not in known:
                    self._problems.append(problem)

    def find(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """The object; None if no manifest has it."""
        found = self._objects.get((kind, namespace), {}).get(name)
        return None if found is None else found.value

    def find_replaced(self, kind: GroupKind, namespace: str, name: str) -> Json | None:
        """The object of this name that a later manifest replaces; None if there is none."""
        return self._replaced.get((kind, namespace, name))

    def list_objects_of(self, kind: GroupKind, namespace: str) -> list[Json]:
        """List all objects of a kind in a namespace, or in all namespaces if it is empty."""
        return [
            document.value
            for (indexed, inside), documents in self._objects.items()
            if indexed == kind and namespace in ("", inside)
            for document in documents.values()
        ]

    def namespaces(self) -> set[str]:
        """The namespaces that exist: Namespaces, and those of objects."""
        return {name for document in self.documents if (name := self._namespace_of(document))}

    def namespaces_of(self, kind: GroupKind, name: str) -> list[str]:
        """The namespaces that have an object of this name, sorted."""
        return sorted(
            namespace
            for (indexed, namespace), documents in self._objects.items()
            if indexed == kind and name in documents
        )
