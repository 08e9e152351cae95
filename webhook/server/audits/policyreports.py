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
from typing import Any, NamedTuple

import msgspec

from webhook.audit.renderers.policyreport import (
    MANAGED_BY,
    NAME,
    OPEN_REPORTS,
    WG_POLICY,
    ReportApi,
    build_objects,
)
from webhook.audit.report import AuditReport
from webhook.cluster.lists import list_pages
from webhook.cluster.protocol import NO_QUERY, ApiClient, status_error
from webhook.errors import ApiError

DIALECTS: Mapping[str, tuple[ReportApi, str]] = MappingProxyType(
    {
        "wgpolicyk8s.io": (WG_POLICY, "policyreports"),
        "openreports.io": (OPEN_REPORTS, "reports"),
    }
)
"""API group -> its form, and the plural of its kind."""

REPORT_PAGE = 20  # objects that are read at first; one has up to 500 KB

_WRITTEN = frozenset({HTTPStatus.OK, HTTPStatus.CREATED})
_TOLD = ("source", "scope", "summary", "results")  # the members that an audit writes


class StoredReport(NamedTuple):
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


class ReportChange(Enum):
    """What is to be done with the report of a namespace."""

    NOTHING = auto()
    CREATE = auto()
    REPLACE = auto()
    DELETE = auto()
    YIELD = auto()


def choose_change(stored: StoredReport | None, wanted: bytes | None) -> ReportChange:
    """
    Decide what to do with a report.

    Args:
        stored: None if there is none.
        wanted: The digest of what it has to tell; None if there is nothing to tell.
    """
    if stored is None:
        return ReportChange.NOTHING if wanted is None else ReportChange.CREATE
    if not stored.ours:
        return ReportChange.NOTHING if wanted is None else ReportChange.YIELD
    if wanted is None:
        return ReportChange.DELETE
    return ReportChange.NOTHING if stored.digest == wanted else ReportChange.REPLACE


def digest(content: Any) -> bytes:
    """Tell apart what reports say, whatever else others write into them."""
    told = [content.get(name) for name in _TOLD]
    return hashlib.sha256(msgspec.json.encode(told, order="sorted")).digest()


class PolicyReportWriter:
    """
    The reports of one API group.

    Attributes:
        problems: What could not be written, in sentences.
    """

    def __init__(self, server: ApiClient, group: str) -> None:
        """
        Ask nothing yet.

        Args:
            group: A key of ``DIALECTS``.
        """
        self.problems: list[str] = []
        self._server = server
        self._dialect, self._plural = DIALECTS[group]
        self._stored: dict[str, StoredReport] | None = None
        self._seen: set[str] = set()

    async def look(self) -> None:
        """Read what is there; if that cannot be, nothing is written afterwards."""
        stored: dict[str, StoredReport] = {}
        query = {"fieldSelector": f"metadata.name={NAME}"}
        try:
            async for page in list_pages(self._server, self._path(""), query, first=REPORT_PAGE):
                for item in page:
                    content = msgspec.json.decode(item)
                    stored[content["metadata"]["namespace"]] = _stored(content)
        except ApiError as error:
            self.problems.append(self._why(error))
            return
        self._stored = stored

    async def write(self, report: AuditReport) -> None:
        """Write the reports on the namespaces of a report."""
        if self._stored is None:
            return
        for content in build_objects(report, self._dialect):
            namespace = content["metadata"]["namespace"]
            self._seen.add(namespace)
            await self._see_to(namespace, self._stored.get(namespace), content)

    async def delete_stale(self) -> None:
        """Delete the reports on namespaces of which nothing was written."""
        if self._stored is not None:
            for namespace in sorted(self._stored.keys() - self._seen):
                await self._see_to(namespace, self._stored[namespace], None)

    async def _see_to(
        self, namespace: str, stored: StoredReport | None, content: Mapping[str, Any] | None
    ) -> None:
        step = choose_change(stored, None if content is None else digest(content))
        match step:
            case ReportChange.NOTHING:
                return
            case ReportChange.YIELD:
                self.problems.append(f"{self._title(namespace)}: is not ours, and left as it is")
                return
            case ReportChange.CREATE:
                method, path, body = "POST", self._path(namespace), msgspec.json.encode(content)
            case ReportChange.REPLACE:
                assert stored is not None, "there is one to replace"
                assert content is not None, "it is replaced by another"
                metadata = {**content["metadata"], "resourceVersion": stored.resource_version}
                body = msgspec.json.encode({**content, "metadata": metadata})
                method, path = "PUT", f"{self._path(namespace)}/{NAME}"
            case ReportChange.DELETE:
                assert stored is not None, "there is one to delete"
                expected = {"uid": stored.uid, "resourceVersion": stored.resource_version}
                options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": expected}
                body = msgspec.json.encode(options)
                method, path = "DELETE", f"{self._path(namespace)}/{NAME}"
        try:
            response = await self._server.send(method, path, NO_QUERY, body)
            if response.status not in _WRITTEN:
                raise status_error("", response.status, response.body)
        except ApiError as error:
            problem = f"cannot be written: {error.problem}"
            self.problems.append(f"{self._title(namespace)}: {problem}")

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


def _stored(content: Any) -> StoredReport:
    metadata = content["metadata"]
    labels: Mapping[str, str] = metadata.get("labels") or {}
    return StoredReport(
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        ours=labels.get(MANAGED_BY) == NAME,
        digest=digest(content),
    )
