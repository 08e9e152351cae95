"""Bodies that no API server sends, and reviews with odd values, sent to a real server."""

import base64
import itertools
import json
import re
from typing import Any

import jsonpatch
import pytest

from tests.controlplane.api import Json
from tests.e2e.standalone import Standalone
from tests.faults.plugin import FaultReport
from tests.server.serving import Reply, call, review
from tests.server.test_admission_refusals import MALFORMED, MEDIA

HOOKS = ("/mutate", "/validate")
LONGEST_LINE = 400  # bytes of a line in the log
DIGITS = b"9" * 5000
DEPTHS = (200, 1_000, 10_000, 100_000)


def pod(constraints: object) -> Json:
    metadata = {"name": "a", "labels": {"app": "it"}}
    spec = {"topologySpreadConstraints": constraints}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def constraint(**members: object) -> list[Json]:
    head = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return [{**head, **members}]


def unknown(text: bytes) -> bytes:
    """A valid review, with any JSON in a member that is not read."""
    return review(object=pod(constraint()), unread="@").replace(b'"@"', text)


def lists(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def objects(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


BROKEN: dict[str, bytes] = {
    **MALFORMED,
    "white space": b" \n\t ",
    "null": b"null",
    "a number": b"1",
    "5000 digits as a body": DIGITS,
    "5000 digits as maxSkew": review(object=pod(constraint(maxSkew=-7))).replace(b"-7", DIGITS),
    "5000 digits as uid": review().replace(b'"uid": "', b'"uid": ' + DIGITS + b', "a": "'),
    "NUL behind a review": review() + b"\0",
    "NUL before a review": b"\0" + review(),
    "NUL between members": review().replace(b'"shop"', b'\0"shop"'),
    "NUL in a string": review().replace(b"shop", b"sh\0op"),
    "a newline in a string": review().replace(b"shop", b"sh\nop"),
    "a number with zeros before it": unknown(b"007"),
    "a comment": unknown(b"1 /* one */"),
    "a comma too many": unknown(b"[1,]"),
    **{f"lists {depth} levels deep": lists(depth) for depth in DEPTHS},
    **{f"objects {depth} levels deep": objects(depth) for depth in DEPTHS},
    **{f"{depth} lists that do not end": b"[" * depth for depth in DEPTHS},
    "a member 100 000 lists deep": unknown(lists(100_000)),
    "a member 100 000 objects deep": unknown(objects(100_000)),
}

READ: dict[str, bytes] = {
    **{f"a member {depth} lists deep": unknown(lists(depth)) for depth in DEPTHS[:-1]},
    **{f"a member {depth} objects deep": unknown(objects(depth)) for depth in DEPTHS[:-1]},
    "5000 digits that are not read": unknown(DIGITS),
    "an escaped NUL": review().replace(b"shop", rb"sh\u0000op"),
    "a duplicate member: the last one counts, as in Go": review().replace(
        b'"request":', b'"request": null, "request":'
    ),
}
"""Valid JSON, which kube-apiserver can send or at least read."""

VALUES: tuple[object, ...] = (
    None,
    "",
    "1",
    "x" * 300,
    0,
    -1,
    1.5,
    2**31,
    2**63,
    True,
    [],
    [None],
    {},
    {"a": None},
)
MEMBERS = (
    *("maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector", "minDomains"),
    *("matchLabelKeys", "nodeAffinityPolicy", "nodeTaintsPolicy", "unknown"),
)
SELECTORS = (
    {"matchLabels": None, "matchExpressions": None},
    {"matchLabels": {"a": None}},
    {"matchExpressions": [None]},
    {"matchExpressions": [{"key": "a", "operator": "In", "values": None}]},
)
OF_REQUEST = (
    *("object", "oldObject", "options", "userInfo", "kind", "resource", "name", "namespace"),
    *("operation", "dryRun", "subResource", "requestKind"),
)
SUBRESOURCES = ("status", "scale", "binding", "eviction", "log", "exec", "ephemeralcontainers")


def odd_requests() -> list[Json]:
    """Members of requests, each with an odd value somewhere."""
    pods = [pod(constraint(**{name: value})) for name in MEMBERS for value in VALUES]
    pods += [pod(constraint(labelSelector=selector)) for selector in SELECTORS]
    pods += [pod(value) for value in VALUES]
    found: list[Json] = [{"object": obj} for obj in pods]
    found += [{name: value} for name in OF_REQUEST for value in VALUES]
    found += [{"subResource": name} for name in SUBRESOURCES]
    for operation in ("CREATE", "UPDATE", "DELETE", "CONNECT", "PATCH"):
        old = pod(constraint(maxSkew=0))
        found += [{"operation": operation, "object": obj, "oldObject": old} for obj in (old, None)]
    return found


def check_review(reply: Reply, obj: object, hook: str) -> None:
    """Check that an answer is what kube-apiserver accepts, and that a patch can be applied."""
    response = reply.response
    assert response["uid"]
    assert isinstance(response["allowed"], bool)
    assert ("patch" in response) == ("patchType" in response)
    if "patch" in response:
        assert hook == "/mutate"
        assert response["patchType"] == "JSONPatch"
        assert response["allowed"]
        patch = base64.b64decode(response["patch"])
        changed: Any = jsonpatch.JsonPatch.from_string(patch.decode()).apply(obj)
        assert changed != obj
    elif not response["allowed"]:
        assert response["status"]["code"] == 422
        assert response["status"]["message"]


@pytest.mark.fault(21)
async def test_bodies_that_no_api_server_sends_are_refused(
    standalone: Standalone, fault_report: FaultReport
) -> None:
    before, seen = standalone.rejected("malformed"), len(standalone.lines)
    wire = await standalone.connect()

    wrong: dict[str, object] = {}
    for title, body in BROKEN.items():
        reply = await wire.ask(call(body))
        if reply.status != 400 or not re.fullmatch(rb"[ -~]{10,200}\n", reply.body):
            wrong[title] = reply
    media = [(await wire.ask(call(review(), headers=headers))).status for headers in MEDIA.values()]
    read = {title: (await wire.ask(call(body))).status for title, body in READ.items()}
    await wire.close()

    lines = standalone.lines[seen:]
    assert not wrong
    assert set(media) == {415}
    assert read == dict.fromkeys(READ, 200)
    assert standalone.rejected("malformed") - before == len(BROKEN)
    assert {line["event"] for line in lines} == {"rejected"}
    assert len(lines) <= len(BROKEN) + len(MEDIA)
    assert max(len(json.dumps(line)) for line in lines) <= LONGEST_LINE
    assert "Traceback" not in standalone.log.read_text()
    fault_report.record(
        load=f"{len(BROKEN)} broken bodies, {len(MEDIA)} other media types, {len(READ)} odd ones",
        calls=len(BROKEN) + len(MEDIA) + len(READ),
        failed=0,
        outcome=f"400, 415 and 200 on one connection; {len(lines)} lines in the log",
    )


@pytest.mark.fault(22)
async def test_reviews_with_odd_values_get_a_defined_answer(
    standalone: Standalone, fault_report: FaultReport
) -> None:
    seen, statuses, patches = len(standalone.lines), list[int](), 0
    wire = await standalone.connect()
    for request, hook in itertools.product(odd_requests(), HOOKS):
        reply = await wire.ask(call(review(**request), hook))
        statuses.append(reply.status)
        if reply.status == 200:
            obj = request.get("object", json.loads(review())["request"]["object"])
            check_review(reply, obj, hook)
            patches += "patch" in reply.response
    without_uid = await wire.ask(call(review("")))
    after = await wire.ask(call(review()))
    await wire.close()

    assert set(statuses) == {200, 400}
    assert patches > 0
    assert (without_uid.status, after.status) == (400, 200)
    assert {line["event"] for line in standalone.lines[seen:]} <= {"denied", "injected", "rejected"}
    fault_report.record(
        load=f"{len(statuses)} reviews with odd values",
        calls=len(statuses),
        failed=0,
        outcome=f"{statuses.count(200)} answered, {statuses.count(400)} refused with 400; "
        f"all {patches} patches can be applied",
    )
