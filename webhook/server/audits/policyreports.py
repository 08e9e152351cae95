"""
PolicyReports in the cluster: one object a namespace, written only if it would change.

An object of our name that is not labelled as ours is somebody else's, and left alone. What was
written meanwhile by another is not overwritten: the next audit sees to it.

Source: kubernetes-sigs wg-policy-prototypes policy-report v1alpha2; openreports reports-api.
"""

import hashlib
from collections.abc import Mapping
from enum import Enum, auto
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import msgspec

from webhook.audit.renderers.policyreport import (
    MANAGED_BY,
    NAME,
    OPEN_REPORTS,
    WG_POLICY,
    Dialect,
    objects,
)
from webhook.audit.report import Report
from webhook.cluster.pages import pages
from webhook.cluster.source import Reader, refusal
from webhook.errors import ApiError
from webhook.server.audits.messages import Answer, Ask

DIALECTS: Mapping[str, tuple[Dialect, str]] = MappingProxyType(
    {
        "wgpolicyk8s.io": (WG_POLICY, "policyreports"),
        "openreports.io": (OPEN_REPORTS, "reports"),
    }
)
"""API group -> its form, and the plural of its kind."""

PAGE = 20  # objects that are read at first; one has up to 500 KB

_WRITTEN = frozenset({HTTPStatus.OK, HTTPStatus.CREATED})
_TOLD = ("source", "scope", "summary", "results")  # the members that an audit writes


class Caller(Reader, Protocol):
    """An API server that is also written to."""

    async def call(self, ask: Ask) -> Answer:
        """Send a request."""
        ...


class Stored(NamedTuple):
    """
    A report as it stands in the cluster.

    Attributes:
        ours: Whether it says that it is.
        digest: Of what it tells.
    """

    uid: str
    resource_version: str
    ours: bool
    digest: bytes


class Step(Enum):
    """What is to be done with the report of a namespace."""

    NOTHING = auto()
    CREATE = auto()
    REPLACE = auto()
    DELETE = auto()
    YIELD = auto()


def next_step(stored: Stored | None, wanted: bytes | None) -> Step:
    """
    Decide what to do with a report.

    Args:
        stored: None if there is none.
        wanted: The digest of what it has to tell; None if there is nothing to tell.
    """
    if stored is None:
        return Step.NOTHING if wanted is None else Step.CREATE
    if not stored.ours:
        return Step.NOTHING if wanted is None else Step.YIELD
    if wanted is None:
        return Step.DELETE
    return Step.NOTHING if stored.digest == wanted else Step.REPLACE


def digest(content: Any) -> bytes:
    """Tell apart what reports say, whatever else others write into them."""
    told = [content.get(name) for name in _TOLD]
    return hashlib.sha256(msgspec.json.encode(told, order="sorted")).digest()


class Reports:
    """
    The reports of one API group.

    Attributes:
        problems: What could not be written, in sentences.
    """

    def __init__(self, server: Caller, group: str) -> None:
        """
        Ask nothing yet.

        Args:
            group: A key of ``DIALECTS``.
        """
        self.problems: list[str] = []
        self._server = server
        self._dialect, self._plural = DIALECTS[group]
        self._stored: dict[str, Stored] | None = None
        self._seen: set[str] = set()

    async def look(self) -> None:
        """Read what is there; if that cannot be, nothing is written afterwards."""
        stored: dict[str, Stored] = {}
        query = {"fieldSelector": f"metadata.name={NAME}"}
        try:
            async for page in pages(self._server, self._path(""), query, first=PAGE):
                for item in page:
                    content = msgspec.json.decode(item)
                    stored[content["metadata"]["namespace"]] = _stored(content)
        except ApiError as error:
            self.problems.append(self._why(error))
            return
        self._stored = stored

    async def write(self, report: Report) -> None:
        """Write the reports on the namespaces of a report."""
        if self._stored is None:
            return
        for content in objects(report, self._dialect):
            namespace = content["metadata"]["namespace"]
            self._seen.add(namespace)
            await self._see_to(namespace, self._stored.get(namespace), content)

    async def sweep_up(self) -> None:
        """Delete the reports on namespaces of which nothing was written."""
        if self._stored is not None:
            for namespace in sorted(self._stored.keys() - self._seen):
                await self._see_to(namespace, self._stored[namespace], None)

    async def _see_to(
        self, namespace: str, stored: Stored | None, content: Mapping[str, Any] | None
    ) -> None:
        step = next_step(stored, None if content is None else digest(content))
        match step:
            case Step.NOTHING:
                return
            case Step.YIELD:
                self.problems.append(f"{self._title(namespace)}: is not ours, and left as it is")
                return
            case Step.CREATE:
                ask = Ask("POST", self._path(namespace), body=msgspec.json.encode(content))
            case Step.REPLACE:
                assert stored is not None, "there is one to replace"
                assert content is not None, "it is replaced by another"
                metadata = {**content["metadata"], "resourceVersion": stored.resource_version}
                body = msgspec.json.encode({**content, "metadata": metadata})
                ask = Ask("PUT", f"{self._path(namespace)}/{NAME}", body=body)
            case Step.DELETE:
                assert stored is not None, "there is one to delete"
                expected = {"uid": stored.uid, "resourceVersion": stored.resource_version}
                options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": expected}
                body = msgspec.json.encode(options)
                ask = Ask("DELETE", f"{self._path(namespace)}/{NAME}", body=body)
        answer = await self._server.call(ask)
        if answer.status not in _WRITTEN:
            said = answer.reason or refusal("", answer.status, answer.body).problem
            self.problems.append(f"{self._title(namespace)}: cannot be written: {said}")

    def _why(self, error: ApiError) -> str:
        if error.status == HTTPStatus.NOT_FOUND:
            kind = f"{self._dialect.kind} {self._dialect.api_version}"
            return f"there is no kind {kind}: install its CustomResourceDefinition"
        return f"{self._plural} cannot be read: {error.problem}"

    def _title(self, namespace: str) -> str:
        return f"{self._dialect.kind} {namespace}/{NAME}"

    def _path(self, namespace: str) -> str:
        inside = f"/namespaces/{namespace}" if namespace else ""
        return f"/apis/{self._dialect.api_version}{inside}/{self._plural}"


def _stored(content: Any) -> Stored:
    metadata = content["metadata"]
    labels: Mapping[str, str] = metadata.get("labels") or {}
    return Stored(
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        ours=labels.get(MANAGED_BY) == NAME,
        digest=digest(content),
    )
