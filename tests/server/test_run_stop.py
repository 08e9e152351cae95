"""How a server stops: what ends it, and who is still served."""

import asyncio
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from tests.apiserver import after, listening, write_kubeconfig
from tests.server.serving import PATIENCE, call, review, settled
from tests.server.started import logged, settings_in, settled_page, started
from webhook.server.http.drain import StopRequest
from webhook.server.http.limits import Limits
from webhook.server.run import serve


async def test_sigterm_turns_it_unready_and_lets_callers_finish(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    limits = Limits(drain_least=1, drain_quiet=1, drain_most=30)
    async with started(settings_in(tmp_path), limits) as server:
        kept, idle = await server.connect(), await server.connect()
        before = await kept.ask(call(review()))

        os.kill(os.getpid(), signal.SIGTERM)
        await settled_page(server, "/readyz", 503)
        after = await kept.ask(call(review()))
        fresh = await server.connect()
        newcomer = await fresh.ask(call(review()))
        rest = await idle.ended()
        for wire in (kept, idle, fresh):
            await wire.close()

    assert not before.closes
    assert (after.status, after.closes) == (200, True)
    assert (newcomer.status, newcomer.closes) == (200, True)
    assert rest == b""
    assert [line["event"] for line in logged(capsysbinary)][-2:] == ["stopping", "stopped"]


async def test_sigterm_under_load_loses_nothing(tmp_path: Path) -> None:
    sent = answered = 0
    limits = Limits(drain_least=0, drain_quiet=1, drain_most=30)

    async with started(settings_in(tmp_path), limits) as server:

        async def hammer() -> None:
            nonlocal sent, answered
            wire, left = await server.connect(), 30
            while left:  # the calls that still come after the server began to stop
                sent += 1
                reply = await wire.ask(call(review(str(sent))))
                answered += reply.status == 200
                left -= reply.closes
                if reply.closes:
                    await wire.close()
                    wire = await server.connect()
            await wire.close()

        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(hammer())
            await settled(lambda: answered > 100)
            os.kill(os.getpid(), signal.SIGTERM)

    assert answered == sent
    assert answered > 100 + 4 * 30 - 1


async def test_a_signal_ends_the_wait_for_the_api_server(tmp_path: Path) -> None:
    stop = StopRequest(lambda code: pytest.fail(f"exit {code}"))
    async with listening() as api_server:
        api_server.script("/version", after(asyncio.Event()))
        file = write_kubeconfig(tmp_path, api_server.url)
        settings = settings_in(tmp_path, standalone=False, kubeconfig=file, tls="standalone")
        serving = asyncio.create_task(serve(settings, print, stop=stop))
        await settled(lambda: bool(api_server.requests))

        stop.take(signal.SIGINT)
        async with asyncio.timeout(PATIENCE):
            await serving


PROGRAM = """
import sys
from webhook.config.settings import Settings
from webhook.server.run import run
settings = Settings(standalone=True, port=0, health_port=0, state=sys.argv[1])
run(settings, lambda line: print(line, flush=True))
"""


def process(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_process_ends_with_0_after_ctrl_c(tmp_path: Path) -> None:
    with process(tmp_path) as child:
        assert child.stdout is not None
        at = child.stdout.readline().split()[-1]
        with closing(urllib.request.urlopen(f"{at}/readyz", timeout=PATIENCE)) as page:
            status = page.status

        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=PATIENCE)

    assert status == 200
    assert child.returncode == 0
    assert "Traceback" not in errors


def test_a_second_signal_ends_a_process_at_once(tmp_path: Path) -> None:
    with process(tmp_path) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()

        child.send_signal(signal.SIGTERM)
        lines = iter(child.stderr.readline, "")
        stopping = next(line for line in lines if '"stopping"' in line)
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=PATIENCE)

    assert stopping
    assert child.returncode == 143
