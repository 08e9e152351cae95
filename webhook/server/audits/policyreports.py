"""
PolicyReports in the cluster: one object per namespace, written only if it would change.

``PolicyReportWriter`` is the entry point. It must not touch an object of the same name without our
label, because that belongs to another client, nor overwrite a change that another client has made
since it was read: the next audit handles that.

Source: kubernetes-sigs wg-policy-prototypes policy-report v1alpha2; openreports reports-api.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

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
from webhook.policy.nesting import decode_nested

DIALECTS: Mapping[str, tuple[ReportApi, str]] = MappingProxyType(
    {"wgpolicyk8s.io": (WG_POLICY, "policyreports"), "openreports.io": (OPEN_REPORTS, "reports")}
)
"""API group -> its schema, and the plural of its kind."""

REPORT_PAGE = 20  # objects in the first page; one has up to 500 KB

_TOO_LARGE = "needs more memory than an audit may use: allow more by --audit-memory"
_WRITTEN = frozenset({HTTPStatus.OK, HTTPStatus.CREATED})
_MEMBERS = ("source", "scope", "summary", "results")  # the members that an audit writes


@dataclass(frozen=True, slots=True)
class StoredReport:
    """
    A report in the cluster.

    Attributes:
        ours: Whether it has our label.
        digest: The digest of its content.
    """

    uid: str
    resource_version: str
    ours: bool
    digest: bytes


def digest(content: Any) -> bytes:
    """Compute the digest of the members that an audit writes; others may be added by clients."""
    members = [content.get(name) for name in _MEMBERS]
    return hashlib.sha256(msgspec.json.encode(members, order="sorted")).digest()


class PolicyReportWriter:
    """
    Writes the reports of one API group.

    Attributes:
        problems: What could not be written, in sentences.
    """

    def __init__(self, client: ApiClient, group: str) -> None:
        """
        Send no request yet.

        Args:
            group: A key of ``DIALECTS``.
        """
        self.problems: list[str] = []
        self._client = client
        self._api, self._plural = DIALECTS[group]
        self._stored: dict[str, StoredReport] | None = None
        self._written: set[str] = set()

    async def read_stored(self) -> None:
        """Read the present reports; if that fails, nothing is written afterwards."""
        stored: dict[str, StoredReport] = {}
        query = {"fieldSelector": f"metadata.name={NAME}"}
        try:
            async for page in list_pages(self._client, self._path(""), query, first=REPORT_PAGE):
                for item in page:
                    content = decode_nested(msgspec.json.decode, item)
                    stored[content["metadata"]["namespace"]] = _stored(content)
        except ApiError as error:
            kind = f"{self._api.kind} {self._api.api_version}"
            if error.status == HTTPStatus.NOT_FOUND:
                problem = f"there is no kind {kind}: install its CustomResourceDefinition"
            else:
                problem = f"{self._plural} cannot be read: {error.problem}"
            self.problems.append(problem)
        except MemoryError:
            self.problems.append(f"{self._plural} cannot be read: a page {_TOO_LARGE}")
        else:
            self._stored = stored

    async def write(self, report: AuditReport) -> None:
        """
        Write one report for each namespace of an audit report.

        If there is too little memory for one, this is a problem, and the stored report stays.
        """
        if self._stored is None:
            return
        left = dict.fromkeys(workload.namespace for workload in report.workloads)
        self._written.update(left)
        try:
            for content in build_objects(report, self._api):
                namespace = content["metadata"]["namespace"]
                await self._write_object(namespace, content, self._stored.get(namespace))
                left.pop(namespace, None)
        except MemoryError:
            for namespace in left:
                self._add_problem(namespace, f"cannot be written: it {_TOO_LARGE}")

    async def _write_object(
        self, namespace: str, content: Mapping[str, Any], stored: StoredReport | None
    ) -> None:
        if stored is None:
            await self._send("POST", namespace, content)
        elif not stored.ours:
            self._add_problem(namespace, "belongs to another client, and is left unchanged")
        elif stored.digest != digest(content):
            metadata = {**content["metadata"], "resourceVersion": stored.resource_version}
            await self._send("PUT", namespace, {**content, "metadata": metadata})

    async def delete_stale(self, left_out: Collection[str] = ()) -> None:
        """
        Delete the reports of namespaces for which ``write`` has written nothing.

        Args:
            left_out: Namespaces that were not audited; their reports stay as they are.
        """
        for namespace, stored in sorted((self._stored or {}).items()):
            if stored.ours and namespace not in self._written and namespace not in left_out:
                expected = {"uid": stored.uid, "resourceVersion": stored.resource_version}
                options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": expected}
                await self._send("DELETE", namespace, options)

    async def _send(self, method: str, namespace: str, content: Mapping[str, Any]) -> None:
        path = self._path(namespace) if method == "POST" else f"{self._path(namespace)}/{NAME}"
        try:
            response = await self._client.send(method, path, NO_QUERY, msgspec.json.encode(content))
            if response.status not in _WRITTEN:
                raise status_error("", response.status, response.body)
        except ApiError as error:
            self._add_problem(namespace, f"cannot be written: {error.problem}")

    def _add_problem(self, namespace: str, problem: str) -> None:
        self.problems.append(f"{self._api.kind} {namespace}/{NAME}: {problem}")

    def _path(self, namespace: str) -> str:
        inside = f"/namespaces/{namespace}" if namespace else ""
        return f"/apis/{self._api.api_version}{inside}/{self._plural}"


def _stored(content: Any) -> StoredReport:
    metadata = content["metadata"]
    labels: Mapping[str, str] = metadata.get("labels") or {}
    return StoredReport(
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        ours=labels.get(MANAGED_BY) == NAME,
        digest=digest(content),
    )
