"""PolicyReports in a cluster: what is written, and what is left alone."""

import json
from typing import Any

import msgspec
import pytest

from tests.audit.world import finding, report
from webhook.audit.report import AuditReport
from webhook.cluster.protocol import JSON, NO_QUERY, Query, Response
from webhook.errors import ApiError
from webhook.server.audits.policyreports import (
    DIALECTS,
    PolicyReportWriter,
    digest,
)


class FakeApiServer:
    """
    An API server that holds reports.

    Attributes:
        held: By namespace.
        asked: Methods and paths of what was written.
        refuses: What each write is answered with; None: as it should be.
    """

    name = "the API server"

    def __init__(self, path: str = "/apis/wgpolicyk8s.io/v1alpha2") -> None:
        self.held: dict[str, Any] = {}
        self.asked: list[str] = []
        self.refuses: Response | ApiError | None = None
        self.status = 200
        self._path = path
        self._version = 0

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        assert path.startswith(self._path)
        assert content_type == JSON
        if method == "GET":
            assert query["fieldSelector"] == "metadata.name=evenspread"
            items = list(self.held.values())
            page = {"metadata": {"resourceVersion": "9"}, "items": items}
            return Response(self.status, msgspec.json.encode(page) if self.status == 200 else b"")
        self.asked.append(f"{method} {path.removeprefix(self._path)}")
        if isinstance(self.refuses, ApiError):
            raise self.refuses
        if self.refuses is not None:
            return self.refuses
        namespace = path.split("/namespaces/")[1].split("/", maxsplit=1)[0]
        sent = json.loads(body)
        found: Any = self.held.get(namespace)
        if method == "DELETE":
            assert sent["preconditions"] == {
                name: found["metadata"][name] for name in ("uid", "resourceVersion")
            }
            del self.held[namespace]
            return Response(200)
        if method == "PUT" and found["metadata"]["resourceVersion"] != sent["metadata"].get(
            "resourceVersion"
        ):
            return Response(409, b'{"kind": "Status", "message": "modified"}')
        self.hold(sent)
        return Response(201 if found is None else 200)

    def hold(self, content: Any) -> None:
        self._version += 1
        added = {"uid": f"u{self._version}", "resourceVersion": f"{self._version}"}
        metadata = {**content["metadata"], **added}
        self.held[metadata["namespace"]] = {**content, "metadata": metadata}


async def audited(
    server: FakeApiServer, *found: AuditReport, group: str = "wgpolicyk8s.io"
) -> list[str]:
    """Write what an audit found; gives the problems."""
    reports = PolicyReportWriter(server, group)
    await reports.read_stored()
    for each in found:
        await reports.write(each)
    await reports.delete_stale()
    return reports.problems


@pytest.mark.parametrize("group", DIALECTS)
async def test_a_report_comes_changes_and_goes(group: str) -> None:
    dialect, plural = DIALECTS[group]
    server = FakeApiServer(f"/apis/{dialect.api_version}")

    for found in (report(finding()), report(finding()), report(finding(), finding())):
        assert await audited(server, found, group=group) == []
    assert await audited(server, group=group) == []

    assert server.asked == [
        f"POST /namespaces/shop/{plural}",
        f"PUT /namespaces/shop/{plural}/evenspread",
        f"DELETE /namespaces/shop/{plural}/evenspread",
    ]
    assert server.held == {}


async def test_what_somebody_else_wrote_into_ours_is_put_right() -> None:
    server = FakeApiServer()
    await audited(server, report(finding()))
    server.held["shop"]["results"] = []

    await audited(server, report(finding()))

    assert len(server.held["shop"]["results"]) == 1


async def test_labels_of_others_are_no_change() -> None:
    server = FakeApiServer()
    await audited(server, report(finding()))
    server.held["shop"]["metadata"]["labels"]["team"] = "a"

    await audited(server, report(finding()))

    assert len(server.asked) == 1


async def test_what_is_not_ours_is_told_and_left_alone() -> None:
    server = FakeApiServer()
    server.hold({"metadata": {"namespace": "shop", "labels": {"app.kubernetes.io/name": "other"}}})
    server.hold({"metadata": {"namespace": "zoo"}})
    before = dict(server.held)

    problems = await audited(server, report(finding()))

    assert problems == [
        "PolicyReport shop/evenspread: belongs to another client, and is left unchanged"
    ]
    assert (server.held, server.asked) == (before, [])


REFUSALS = {
    "somebody was faster": (
        Response(409, b'{"kind": "Status", "message": "modified"}'),
        "answered 409: modified",
    ),
    "there was no answer": (
        ApiError("https://api", "gave no answer in time", "silent"),
        "gave no answer in time",
    ),
}


@pytest.mark.parametrize(("answer", "says"), REFUSALS.values(), ids=REFUSALS)
async def test_what_cannot_be_written_is_told(answer: Response | ApiError, says: str) -> None:
    server = FakeApiServer()
    server.refuses = answer

    assert await audited(server, report(finding())) == [
        f"PolicyReport shop/evenspread: cannot be written: {says}"
    ]


ABSENCES = {
    404: "there is no kind PolicyReport wgpolicyk8s.io/v1alpha2: "
    "install its CustomResourceDefinition",
    403: "policyreports cannot be read: answered 403",
}


@pytest.mark.parametrize(("status", "says"), ABSENCES.items())
async def test_without_knowing_what_is_there_nothing_is_written(status: int, says: str) -> None:
    server = FakeApiServer()
    server.status = status

    assert await audited(server, report(finding())) == [says]
    assert server.asked == []


def test_a_digest_is_that_of_what_is_told() -> None:
    content = {"results": [{"b": 1, "a": 2}], "summary": {"fail": 1}}
    stored = {"summary": {"fail": 1}, "results": [{"a": 2, "b": 1}], "metadata": {"uid": "u"}}

    assert digest(content) == digest(stored)
    assert digest(content) != digest({**content, "summary": {"fail": 2}})
