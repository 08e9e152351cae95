"""The server as a whole: how it starts, serves, and follows its configuration."""

import asyncio
import errno
import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from certs.errors import PairError, StateError
from tests.certs.world import authority, client_pair, real_clock
from tests.server.serving import PATIENCE, broken_review, call, review, settled
from tests.server.started import QUICK, logged, settings_in, settled_page, started
from webhook.errors import ApiError, ConfigError, SourceError
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.server.http.drain import StopRequest
from webhook.server.run import ServerAddresses, format_greeting, run, serve

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}}
---
apiVersion: v1
kind: Service
metadata: {name: 5}
"""
CONFIG = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: cluster
  defaultConstraints:
  - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
"""


async def test_tasks_are_counted_and_connections_that_end_leave_none(tmp_path: Path) -> None:
    async with started(settings_in(tmp_path)) as server:

        async def tasks() -> float:
            _, metrics = await server.page("/metrics")
            _, _, rest = metrics.partition("\nevenspread_tasks ")
            return float(rest.partition("\n")[0])

        before = await tasks()
        wires = [await server.connect() for _ in range(5)]
        for wire in wires:
            assert (await wire.ask(call(review()))).status == 200
        during = await tasks()
        for wire in wires:
            await wire.close()
        async with asyncio.timeout(PATIENCE):
            while await tasks() > before:  # noqa: ASYNC110  # there is no event for it
                await asyncio.sleep(0)

    assert during >= before + len(wires)


async def test_a_review_is_answered_with_facts_from_files(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "services.yaml").write_text(SERVICE)
    (tmp_path / "config.yaml").write_text(CONFIG)
    settings = settings_in(
        tmp_path, facts=str(tmp_path / "services.yaml"), config=str(tmp_path / "config.yaml")
    )
    pod = {"kind": "Pod", "metadata": {"name": "a", "labels": {"app": "web"}}, "spec": {}}

    async with started(settings) as server:
        wire = await server.connect()
        reply = await wire.ask(call(review(object=pod)))
        await wire.close()
        _, metrics = await server.page("/metrics")

    assert reply.response["auditAnnotations"]["profile"] == "cluster"
    assert 'evenspread_cache_objects{kind="Service"} 1.0' in metrics
    assert 'evenspread_defaults_applied_total{profile="cluster"} 1.0' in metrics
    events = {line["event"]: line for line in logged(capsysbinary)}
    assert "services.yaml:9" in events["unreadable"]["message"]
    assert events["injected"]["keys"] == ["kubernetes.io/hostname"]


async def test_a_version_newer_than_the_supported_ones_is_logged(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    async with started(settings_in(tmp_path, kube_version="1.99")):
        pass

    [message] = [line["message"] for line in logged(capsysbinary) if line["event"] == "version"]
    newer = "Kubernetes 1.99 is newer than the supported versions"
    assert message == f"{newer}: the rules of {NEWEST_VERSION} apply"


async def test_it_serves_although_its_greeting_has_no_reader(tmp_path: Path) -> None:
    def reader_gone(_line: str) -> None:
        raise BrokenPipeError

    async with started(settings_in(tmp_path), console=reader_gone) as server:
        assert (await server.page("/livez"))[0] == 200


async def test_it_prints_where_it_serves_and_how_to_try_it(tmp_path: Path) -> None:
    async with started(settings_in(tmp_path)) as server:
        pass

    assert server.lines == format_greeting(server.ready)
    assert re.search(r"serves on https://127\.0\.0\.1:\d+, its health on http://", server.lines[0])
    assert f"curl --cacert {tmp_path}/state/ca.crt" in server.lines[1]
    assert server.lines[1].endswith("/mutate")


async def test_it_prints_how_to_try_it_with_a_certificate(tmp_path: Path) -> None:
    callers = authority()
    pair = client_pair(callers, "me")
    (tmp_path / "callers.crt").write_bytes(callers.certificate_pem())
    (tmp_path / "client.crt").write_bytes(pair.certificate_pem())
    (tmp_path / "client.key").write_bytes(pair.key_pem())
    (tmp_path / "review.json").write_bytes(review())
    callers_file = tmp_path / "callers.crt"

    async with started(settings_in(tmp_path, client_ca=str(callers_file))) as server:
        heading, _, line = server.lines[1].partition(": ")
        curl = await asyncio.create_subprocess_exec(
            *shlex.split(line), "--silent", cwd=tmp_path, stdout=asyncio.subprocess.PIPE
        )
        answer, _ = await curl.communicate()

    assert heading == f"try it, with a certificate of {callers_file}"
    assert json.loads(answer)["response"]["allowed"] is True


async def test_it_is_ready_once_everything_is_there(tmp_path: Path) -> None:
    async with started(settings_in(tmp_path)) as server:
        await settled_page(server, "/readyz", 200)
        verbose = await server.page("/readyz?verbose")
        alive = await server.page("/livez")

    assert verbose[1].splitlines() == [
        "[+]configuration ok",
        "[+]certificate ok",
        "[+]facts ok: 0 objects from files",
        "[+]tasks ok",
        "[+]server ok: serving",
        "ok",
    ]
    assert alive == (200, "ok\n")


async def test_a_server_without_a_greeting_prints_its_addresses(tmp_path: Path) -> None:
    stop = StopRequest(lambda code: pytest.fail(f"exit {code}"))
    lines: list[str] = []
    serving = asyncio.create_task(
        serve(settings_in(tmp_path), lines.append, None, limits=QUICK, stop=stop)
    )

    await settled(lambda: bool(lines))
    stop.take(signal.SIGINT)
    async with asyncio.timeout(PATIENCE):
        await serving

    assert "https://127.0.0.1:" in "".join(lines)


async def test_the_log_is_timed_by_the_clock_of_the_server(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    stop = StopRequest(lambda code: pytest.fail(f"exit {code}"))
    later = real_clock() + timedelta(hours=1)
    stop.take(signal.SIGINT)

    await serve(settings_in(tmp_path), print, limits=QUICK, stop=stop, now=lambda: later)

    assert {line["time"] for line in logged(capsysbinary)} == {
        later.isoformat().replace("+00:00", "Z")
    }


async def test_a_greeting_may_fail_without_harm(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    def fail(ready: ServerAddresses) -> None:
        raise SourceError(ready.url, "no answer")

    async with started(settings_in(tmp_path), greet=fail) as server:
        wire = await server.connect()
        reply = await wire.ask(call(review()))
        await wire.close()

    assert reply.status == 200
    warned = [line for line in logged(capsysbinary) if line["event"] == "greeting"]
    assert warned[0]["message"].endswith(": no answer")


async def test_a_greeting_whose_reader_has_gone_is_not_repeated(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    greetings: list[ServerAddresses] = []

    def fail(ready: ServerAddresses) -> None:
        greetings.append(ready)
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    async with started(settings_in(tmp_path), greet=fail) as server:
        await settled(lambda: "greeting" not in {task.get_name() for task in asyncio.all_tasks()})
        _, ready = await server.page("/readyz?verbose")

    assert "[+]tasks ok\n" in ready
    assert len(greetings) == 1
    (warned,) = (line for line in logged(capsysbinary) if line["event"] == "greeting")
    assert warned["message"] == "Broken pipe"


async def test_the_state_is_kept_between_two_runs(tmp_path: Path) -> None:
    leaves = []
    for _ in range(2):
        async with started(settings_in(tmp_path)) as server:
            wire = await server.connect()
            leaves.append(wire.writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
            await wire.close()

    assert leaves[0] == leaves[1]


FAULTS: dict[str, tuple[Callable[[Path], dict[str, Any]], type[Exception], str]] = {
    "an authority, but no cluster": (lambda _: {"tls": "self"}, ConfigError, "--tls: self"),
    "an authority without the name of its namespace": (
        lambda _: {"standalone": False, "kubeconfig": "none"},
        ConfigError,
        "--namespace: is needed",
    ),
    "files without the name of their folder": (
        lambda _: {"tls": "files"},
        ConfigError,
        "--tls-dir: is needed",
    ),
    "files that are not there": (
        lambda folder: {"tls": "files", "tls_dir": str(folder)},
        PairError,
        "tls.crt",
    ),
    "a kubeconfig that is not there": (
        lambda folder: {
            "standalone": False,
            "tls": "standalone",
            "kubeconfig": str(folder / "none"),
        },
        ApiError,
        "credentials cannot be used",
    ),
    "no such cluster": (
        lambda folder: {"facts": str(folder / "none")},
        ConfigError,
        "--facts: there is no file or folder",
    ),
    "no such configuration": (
        lambda folder: {"config": str(folder / "none")},
        ConfigError,
        "none' cannot be read: No such file",
    ),
    "an unknown gate": (lambda _: {"feature_gates": "Typo=true"}, ConfigError, "'Typo'"),
    "a state folder that is a file": (
        lambda folder: {"state": str(folder / "file")},
        StateError,
        "--state",
    ),
    "an address of another machine": (
        lambda _: {"bind": "192.0.2.1"},
        ConfigError,
        "cannot listen on 192.0.2.1",
    ),
}


@pytest.mark.parametrize(("members", "error", "text"), FAULTS.values(), ids=FAULTS)
async def test_invalid_settings_are_reported_before_it_listens(
    members: Callable[[Path], dict[str, Any]], error: type[Exception], text: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(error, match=text):
        await serve(settings_in(tmp_path, **members(tmp_path)), print)


def test_settings_that_contradict_each_other_end_the_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--tls-dir: is needed"):
        run(settings_in(tmp_path, tls="files"), print)


def test_the_greeting_of_a_server_without_a_ca_file_has_no_command() -> None:
    (line,) = format_greeting(ServerAddresses("https://a:1", None, "http://a:2"))

    assert line.endswith("serves on https://a:1, its health on http://a:2")


async def test_a_port_that_is_taken_is_reported(tmp_path: Path) -> None:
    async with started(settings_in(tmp_path)) as server:
        port = urlsplit(server.ready.health).port

        with pytest.raises(ConfigError, match=f"port {port}: Address already in use"):
            await serve(settings_in(tmp_path, health_port=port), print)


ADDRESSES = {
    "::1": "https://[::1]:",
    "0.0.0.0": "https://localhost:",
    "127.0.0.1": "https://127.0.0.1:",
}


@pytest.mark.parametrize(("bind", "url"), ADDRESSES.items(), ids=ADDRESSES)
async def test_the_url_is_one_that_can_be_called(tmp_path: Path, bind: str, url: str) -> None:
    async with started(settings_in(tmp_path, bind=bind)) as server:
        wire = await server.connect()
        reply = await wire.ask(call(broken_review()))
        await wire.close()

    assert server.ready.url.startswith(url)
    assert reply.response["allowed"] is False


def test_without_a_cluster_its_client_is_not_imported() -> None:
    """It takes 4 MiB."""
    program = "import sys, webhook.server.run; print('kubernetes_asyncio' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert done.stdout == b"False\n"
