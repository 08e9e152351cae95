"""The audit process as it runs: its orders and requests, and how it ends."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import uvloop

from tests.apiserver import ApiServer, Fault, Json, Request, refuse
from tests.audit.world import EVERYTHING, NODES, serve_objects
from tests.server.serving import settled
from webhook.cluster.protocol import FailureReason
from webhook.errors import ApiError
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.server.audits.messages import AuditFailure, AuditOrder, AuditResult
from webhook.server.audits.subprocess import COMMAND, AuditProcess
from webhook.server.audits.worker import LOWEST_PRIORITY
from webhook.server.reload import PolicySources

MIB = 2**20
SILENCE_S = 60.0  # more than any order here takes

ORDER = AuditOrder(PolicySources(version=NEWEST_VERSION), (), "", 256 * MIB)


def order_with(config: Path | str) -> AuditOrder:
    """Order an audit with this configuration file."""
    sources = replace(ORDER.sources, config=str(config))
    return msgspec.structs.replace(ORDER, sources=sources)


def children() -> list[int]:
    """The processes that this thread has started since the test began."""
    return sorted(all_children() - OTHERS)


def all_children() -> set[int]:
    """All processes that this thread has started, also for other tests."""
    me = os.getpid()
    return {int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split()}


OTHERS = set[int]()
"""Processes of other tests, such as the driver of a browser."""


@pytest.fixture(autouse=True)
def others() -> None:
    """Leave out what other tests have started."""
    OTHERS.clear()
    OTHERS.update(all_children())


async def done(api: ApiServer, order: AuditOrder = ORDER) -> AuditResult:
    outcome = await AuditProcess(api, SILENCE_S).run(order)
    assert isinstance(outcome, AuditResult), outcome
    return outcome


async def failed(
    api: ApiServer, order: AuditOrder = ORDER, command: Sequence[str] = COMMAND
) -> str:
    outcome = await AuditProcess(api, SILENCE_S, command).run(order)
    assert isinstance(outcome, AuditFailure), outcome
    return outcome.problem


async def test_an_order_is_carried_out_at_the_lowest_priority() -> None:
    api, priorities = serve_objects(EVERYTHING), set[int]()

    def record_priorities(_request: Request) -> None:
        priorities.update(os.getpriority(os.PRIO_PROCESS, pid) for pid in children())

    api.faults.append(record_priorities)
    outcome = await done(api)

    assert (outcome.workloads, outcome.pods, outcome.findings) == (3, 5, 3)
    assert b"evenspread_skew{" in outcome.exposition
    assert outcome.problems == ()
    assert api.writes == []
    assert priorities == {LOWEST_PRIORITY}
    assert children() == []


async def test_reports_are_written_if_they_are_ordered() -> None:
    api = serve_objects(EVERYTHING)
    api.define("openreports.io/v1alpha1", "Report")

    await done(api, msgspec.structs.replace(ORDER, policy_reports="openreports.io"))

    assert [(request.method, request.path) for request in api.writes] == [
        ("POST", f"/apis/openreports.io/v1alpha1/namespaces/{namespace}/reports")
        for namespace in ("ops", "shop")
    ]
    assert {request.content["kind"] for request in api.writes} == {"Report"}


async def test_the_configuration_of_the_order_counts(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    head = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
    config.write_text(f"{head}rules: {{TSC110: off, TSC114: off}}\n")

    outcome = await done(serve_objects(EVERYTHING), order_with(config))

    assert outcome.findings == 1


async def test_what_could_not_be_read_is_reported() -> None:
    broken = EVERYTHING.replace("containers: []", "tolerations: 5")

    outcome = await done(serve_objects(broken))

    (problem,) = outcome.problems
    assert problem.startswith("/apis/apps/v1/namespaces/shop/statefulsets/db: ")


async def test_a_kind_that_may_not_be_listed_fails_it() -> None:
    path = "/api/v1/pods"

    assert await failed(serve_objects(EVERYTHING, {path: [refuse(f"{path} is forbidden")]})) == (
        f"the API server: answered 403: {path} is forbidden"
    )


async def test_an_api_server_that_gives_no_answer_fails_it() -> None:
    silent = ApiError("https://api", "gave no answer in time", FailureReason.SILENT)

    assert await failed(serve_objects(EVERYTHING, {"/api/v1/nodes": [silent]})) == (
        "the API server: gave no answer in time"
    )


async def test_a_configuration_that_is_wrong_fails_it(tmp_path: Path) -> None:
    order = order_with(tmp_path / "none.yaml")

    assert "none.yaml" in await failed(serve_objects(EVERYTHING), order)


def large_pod(namespace: str, number: int) -> Json:
    name = f"pod-{number:05}"
    return {
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": f"a-{number}"}},
        "spec": {"nodeName": "node-a", "nodeSelector": {"x": "y" * 100_000}},
    }


async def test_a_namespace_that_needs_too_much_memory_is_left_out() -> None:
    pods = [large_pod("shop", number) for number in range(300)]
    others = [large_pod(namespace, 0) for namespace in ("net", "web")]
    order = msgspec.structs.replace(ORDER, memory=48 * MIB)

    outcome = await AuditProcess(serve_objects(pods + others), SILENCE_S).run(order)

    assert isinstance(outcome, AuditResult), outcome
    assert (outcome.left_out, outcome.workloads, outcome.problems) == (("shop",), 2, ())


async def test_a_process_that_dies_is_reported_with_its_last_words() -> None:
    command = (sys.executable, "-c", "import sys; sys.exit('one\\ntwo')")

    problem = await failed(serve_objects(NODES), command=command)

    assert problem == "the audit process ended with 1: two"


async def test_a_process_that_is_killed_while_it_waits_for_an_answer_is_reported() -> None:
    async def kill(_request: Request) -> None:
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        await settled(lambda: not children())

    problem = await failed(serve_objects(NODES, {"/api/v1/nodes": [kill]}))

    assert problem == "the audit process ended with -9: "


NO_MESSAGES = {
    "a line of text": "print('hello, I am a library that prints')",
    "an oversized frame": "out.write(b'\\xff' * 64)",
    "no MessagePack": "out.write(frame(b'\\xc1'))",
    "another type": "out.write(frame(b'\\x05'))",
    "a message of the other direction": "out.write(frame(encode(ApiResponse(200))))",
    "no UTF-8": "out.write(frame(encode(AuditFailure('x')).replace(b'x', b'\\xff')))",
    "too deep": "out.write(frame(b'\\x82\\xa4type\\xacAuditFailure\\xa1x' + b'\\x91' * 10000))",
    "nothing in a frame": "out.write(frame(b''))",
}


@pytest.mark.parametrize("code", NO_MESSAGES.values(), ids=NO_MESSAGES)
async def test_what_is_no_message_fails_it(code: str) -> None:
    imports = "from webhook.server.audits.messages import ApiResponse, AuditFailure, encode, frame"
    program = f"import sys\n{imports}\nout = sys.stdout.buffer\n{code}\nsys.stdout.flush()\n"
    stays = f"{program}sys.stderr.write('why')\nsys.stderr.flush()\nsys.stdin.buffer.read()\n"

    problem = await failed(serve_objects(NODES), command=(sys.executable, "-c", stays))

    assert problem.startswith("the audit process sent an invalid message")
    assert children() == []


NO_PROGRAMS = {
    "no such file": ("/nowhere/python",),
    "a folder": ("/",),
    "what is no program": (__file__,),
    "no name": ("",),
}


@pytest.mark.parametrize("command", NO_PROGRAMS.values(), ids=NO_PROGRAMS)
async def test_a_process_that_cannot_be_started_fails_it(command: tuple[str, ...]) -> None:
    problem = await failed(serve_objects(NODES), command=command)

    assert problem.startswith("the audit process cannot be started: ")


TALKATIVE = """
import sys
from webhook.server.audits.messages import AuditFailure, encode, frame
sys.stderr.write("x" * 10_000_000)
sys.stdout.buffer.write(frame(encode(AuditFailure("done"))))
"""


async def test_what_it_writes_to_standard_error_never_blocks_it() -> None:
    assert await failed(serve_objects(NODES), command=(sys.executable, "-c", TALKATIVE)) == "done"


PIPES = {
    "standard output": "os.write(1, b'x' * 10**6)",
    "standard error": "os.write(2, b'x' * 9999); os.write(1, b'x' * 4); os.write(2, b'x' * 10**6)",
}


@pytest.mark.parametrize("code", PIPES.values(), ids=PIPES)
def test_of_a_process_that_was_ended_no_pipe_stays_open(code: str) -> None:
    async def run() -> None:
        counts: list[int] = []
        for _ in range(4):
            await failed(serve_objects(NODES), command=(sys.executable, "-c", f"import os; {code}"))
            await asyncio.sleep(0)  # the loop closes them in one of its next turns
            if counts:  # the first one makes what the event loop keeps
                await settled(lambda: open_files() <= counts[0])
            counts.append(open_files())

    uvloop.run(run())


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_of_many_last_words_the_last_are_reported() -> None:
    program = "import sys; sys.exit('x' * 10_000_000 + '\\n' + 'y' * 10_000)"

    problem = await failed(serve_objects(NODES), command=(sys.executable, "-c", program))

    assert problem.startswith("the audit process ended with 1: yyy")
    assert len(problem) < 5000


# program -> problem
HANGING = {
    "sends nothing": ("import time; time.sleep(600)", "sent nothing for 0.5 s"),
    "sends half a length": (
        "import time; print('a', end='', flush=True); time.sleep(600)",
        "sent nothing for 0.5 s",
    ),
}


@pytest.mark.parametrize(("program", "problem"), HANGING.values(), ids=HANGING)
async def test_an_audit_fails_if_its_process(program: str, problem: str) -> None:
    outcome = await AuditProcess(serve_objects(NODES), 0.5, (sys.executable, "-c", program)).run(
        ORDER
    )

    assert outcome == AuditFailure(f"the audit process {problem}")
    assert children() == []


async def test_an_audit_fails_if_its_process_closes_its_output() -> None:
    # uvloop may leave the process a copy of its output, which stays open.
    program = "import os, time; os.closerange(0, 100); time.sleep(600)"

    problem = await failed(serve_objects(NODES), command=(sys.executable, "-c", program))

    assert problem == "the audit process closed its output and went on"
    assert children() == []


async def test_a_process_that_does_not_listen_fails_it() -> None:
    order = order_with("x" * 10_000_000)
    command = (sys.executable, "-c", "import time; time.sleep(600)")

    outcome = await AuditProcess(ApiServer(), 0.5, command).run(order)

    assert outcome == AuditFailure("the audit process sent nothing for 0.5 s")


WAITING = """
import os, sys
from webhook.cluster.protocol import ApiRequest
from webhook.server.audits.messages import encode, frame
sys.stdout.buffer.write(frame(encode(ApiRequest("GET", str(os.getpid())))))
sys.stdout.flush()
sys.stdin.buffer.read()
"""


async def test_an_audit_that_is_given_up_ends_its_process() -> None:
    api = ApiServer(otherwise=Fault.SILENCE)
    task = asyncio.create_task(
        AuditProcess(api, SILENCE_S, (sys.executable, "-c", WAITING)).run(ORDER)
    )
    await settled(lambda: bool(api.requests))
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    with pytest.raises(ProcessLookupError):
        os.kill(int(api.paths[0]), 0)


def test_a_process_whose_server_has_gone_ends() -> None:
    ended = subprocess.run(COMMAND, input=b"", capture_output=True, timeout=60, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b"")


async def test_an_audit_that_is_given_up_while_its_process_starts_ends_it() -> None:
    async def give_up() -> None:
        task = asyncio.create_task(AuditProcess(ApiServer(), SILENCE_S).run(ORDER))
        await settled(lambda: bool(children()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for _ in range(5):
        await give_up()

    await settled(lambda: not children())
