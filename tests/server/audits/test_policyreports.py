"""PolicyReports in a cluster: what is written, and what is left alone."""

import copy
import json
from typing import Any

import pytest

from tests.apiserver import ApiServer, Request
from tests.audit.world import finding, report
from webhook.audit.report import AuditReport
from webhook.cluster.protocol import Response
from webhook.errors import ApiError
from webhook.server.audits.policyreports import (
    DIALECTS,
    PolicyReportWriter,
    digest,
)

GROUP = "wgpolicyk8s.io"
REPORT = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/shop/policyreports/evenspread"


def serve_reports(*objects: Any, group: str = GROUP) -> ApiServer:
    """Build an API server with the report kind of a group, and these reports."""
    dialect, _ = DIALECTS[group]
    server = ApiServer()
    server.define(dialect.api_version, dialect.kind)
    kind = {"apiVersion": dialect.api_version, "kind": dialect.kind}
    server.add(*({**kind, **obj} for obj in objects))
    return server


async def audited(server: ApiServer, *found: AuditReport, group: str = GROUP) -> list[str]:
    """Write what an audit found; returns the problems."""
    reports = PolicyReportWriter(server, group)
    await reports.read_stored()
    for audit_report in found:
        await reports.write(audit_report)
    await reports.delete_stale()
    return reports.problems


@pytest.mark.parametrize("group", DIALECTS)
async def test_a_report_is_created_replaced_and_deleted(group: str) -> None:
    dialect, plural = DIALECTS[group]
    server = serve_reports(group=group)

    for found in (report(finding()), report(finding()), report(finding(), finding())):
        assert await audited(server, found, group=group) == []
    assert await audited(server, group=group) == []

    reports = f"/apis/{dialect.api_version}/namespaces/shop/{plural}"
    assert [(request.method, request.path) for request in server.writes] == [
        ("POST", reports),
        ("PUT", f"{reports}/evenspread"),
        ("DELETE", f"{reports}/evenspread"),
    ]
    assert server.objects == {}


async def test_the_report_of_a_namespace_that_was_left_out_stays() -> None:
    server = serve_reports()
    await audited(server, report(finding()))
    reports = PolicyReportWriter(server, GROUP)

    await reports.read_stored()
    await reports.delete_stale(["shop"])

    assert [request.method for request in server.writes] == ["POST"]


async def test_a_report_of_any_depth_is_read() -> None:
    """A tenant may write one in its own namespace, and the API server stores it."""
    server = serve_reports(group=GROUP)
    await audited(server, report(finding()))
    stored = copy.deepcopy(server.objects[REPORT])
    stored["metadata"]["managedFields"] = "@"
    page = {"metadata": {"resourceVersion": "9"}, "items": [stored]}
    deep = '{"a":' * 9_000 + "{}" + "}" * 9_000
    body = json.dumps(page).replace('"@"', deep).encode()
    server.script(
        REPORT.replace("/namespaces/shop", "").removesuffix("/evenspread"), Response(200, body)
    )
    before = len(server.writes)

    assert await audited(server, report(finding())) == []
    assert len(server.writes) == before


async def test_a_report_that_another_client_changed_is_restored() -> None:
    server = serve_reports()
    await audited(server, report(finding()))
    server.objects[REPORT]["results"] = []

    await audited(server, report(finding()))

    assert len(server.objects[REPORT]["results"]) == 1


async def test_labels_of_other_clients_are_no_change() -> None:
    server = serve_reports()
    await audited(server, report(finding()))
    server.objects[REPORT]["metadata"]["labels"]["team"] = "a"

    await audited(server, report(finding()))

    assert len(server.writes) == 1


async def test_a_report_of_another_client_is_a_problem_and_stays() -> None:
    other = {"name": "evenspread", "labels": {"app.kubernetes.io/name": "other"}}
    server = serve_reports(
        {"metadata": {**other, "namespace": "shop"}}, {"metadata": {**other, "namespace": "zoo"}}
    )

    problems = await audited(server, report(finding()))

    assert problems == [
        "PolicyReport shop/evenspread: belongs to another client, and is left unchanged"
    ]
    assert server.writes == []


@pytest.mark.parametrize(
    "found", [(report(finding(), finding()),), ()], ids=["replaced", "deleted"]
)
async def test_a_report_that_changes_after_it_was_read_stays(
    found: tuple[AuditReport, ...],
) -> None:
    server = serve_reports()
    await audited(server, report(finding()))

    def change(request: Request) -> None:
        if request.method != "GET":
            server.put(REPORT, server.objects[REPORT])

    server.faults.append(change)
    (problem,) = await audited(server, *found)

    assert problem.startswith("PolicyReport shop/evenspread: cannot be written: answered 409: the")
    assert len(server.objects[REPORT]["results"]) == 1


async def test_a_write_without_an_answer_is_a_problem() -> None:
    server = serve_reports()
    server.script(REPORT.rpartition("/")[0], ApiError("https://api", "gave no answer", "silent"))

    assert await audited(server, report(finding())) == [
        "PolicyReport shop/evenspread: cannot be written: gave no answer"
    ]


class ShortOfMemory(ApiServer):
    """An API server whose requests of one method need more memory than there is."""

    def __init__(self, method: str, *objects: Any) -> None:
        super().__init__()
        self.define(DIALECTS[GROUP][0].api_version, DIALECTS[GROUP][0].kind)
        self.add(*objects)
        self._method = method

    async def send(self, method: str, *args: Any) -> Response:
        if method == self._method:
            raise MemoryError
        return await super().send(method, *args)


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_a_report_without_memory_for_it_is_a_problem_and_stays(method: str) -> None:
    server = serve_reports()
    await audited(server, report(finding()))
    stored = [server.objects[REPORT]] if method == "PUT" else []
    short = ShortOfMemory(method, *stored)

    (problem,) = await audited(short, report(finding(), finding()))

    needs = "cannot be written: it needs more memory than an audit may use"
    assert problem == f"PolicyReport shop/evenspread: {needs}: allow more by --audit-memory"
    assert short.writes == []


async def test_without_memory_for_the_stored_reports_nothing_is_written() -> None:
    short = ShortOfMemory("GET")

    (problem,) = await audited(short, report(finding()))

    needs = "cannot be read: a page needs more memory than an audit may use"
    assert problem == f"policyreports {needs}: allow more by --audit-memory"
    assert short.writes == []


ABSENCES = {
    404: "there is no kind PolicyReport wgpolicyk8s.io/v1alpha2: "
    "install its CustomResourceDefinition",
    403: "policyreports cannot be read: answered 403",
}


@pytest.mark.parametrize(("status", "problem"), ABSENCES.items())
async def test_nothing_is_written_if_the_reports_cannot_be_read(status: int, problem: str) -> None:
    server = ApiServer(otherwise=Response(status))

    assert await audited(server, report(finding())) == [problem]
    assert server.writes == []


def test_a_digest_is_that_of_what_is_written() -> None:
    content = {"results": [{"b": 1, "a": 2}], "summary": {"fail": 1}}
    stored = {"summary": {"fail": 1}, "results": [{"a": 2, "b": 1}], "metadata": {"uid": "u"}}

    assert digest(content) == digest(stored)
    assert digest(content) != digest({**content, "summary": {"fail": 2}})
