import asyncio
import json
import os
import sys
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import uvloop

from tests.controlplane.waiting import until
from webhook.cluster.client.plugins import EXPIRY_MARGIN, OUTPUT_BYTES, PLUGIN_S, ExecPlugin
from webhook.errors import SourceError

NOW = datetime(2030, 1, 1, tzinfo=UTC)
VERSION = "client.authentication.k8s.io/v1"
HANG = "import time; time.sleep(600)"


def credential(**status: str) -> str:
    """Write a program that prints an ExecCredential."""
    printed = {"apiVersion": VERSION, "kind": "ExecCredential", "status": status}
    return f"print({json.dumps(json.dumps(printed))})"


def plugin_of(
    program: str,
    *,
    now: Callable[[], datetime] = lambda: NOW,
    seconds: float = 60.0,
    **entry: Any,
) -> tuple[ExecPlugin, dict[str, Any]]:
    """Return a plugin that runs a Python program, and the entry of its user."""
    entry = {"apiVersion": VERSION, "command": sys.executable, "args": ["-Sc", program], **entry}
    user: dict[str, Any] = {"exec": entry}
    return ExecPlugin("config", user, now, seconds), user


async def refresh(program: str, **options: Any) -> dict[str, Any]:
    plugin, user = plugin_of(program, **options)
    await plugin.refresh()
    return user


async def failure(program: str, **options: Any) -> str:
    with pytest.raises(SourceError) as caught:
        await refresh(program, **options)
    return str(caught.value)


async def test_a_token_replaces_the_exec_entry() -> None:
    user = await refresh(credential(token="secret"))

    assert user == {"token": "secret", "client-certificate-data": "", "client-key-data": ""}


async def test_a_client_certificate_is_encoded_as_in_a_kubeconfig() -> None:
    user = await refresh(credential(clientCertificateData="CERT", clientKeyData="KEY"))

    assert b64decode(user["client-certificate-data"]) == b"CERT"
    assert b64decode(user["client-key-data"]) == b"KEY"


async def test_the_plugin_gets_its_environment() -> None:
    program = (
        "import json, os; info = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "print(json.dumps({'status': {'token': ' '.join([os.environ['A'], info['kind'],"
        "info['apiVersion'], str(info['spec']['interactive'])])}}))"
    )

    user = await refresh(program, env=[{"name": "A", "value": "b"}])

    assert user["token"] == f"b ExecCredential {VERSION} False"


@pytest.mark.parametrize(("left", "runs"), [(timedelta(hours=1), 1), (EXPIRY_MARGIN, 2)])
async def test_credentials_are_kept_until_they_expire(
    tmp_path: Path, left: timedelta, runs: int
) -> None:
    count = f"open({str(tmp_path / 'runs')!r}, 'a').write('x');"
    expiry = (NOW + left).isoformat().replace("+00:00", "Z")
    plugin, _ = plugin_of(count + credential(token="t", expirationTimestamp=expiry))

    await plugin.refresh()
    await plugin.refresh()

    assert (tmp_path / "runs").read_text() == "x" * runs


FAILURES = {
    "garbage": ("print('<html>')", "printed no ExecCredential with a status"),
    "bytes that are no text": ("import os; os.write(1, b'\\xff')", "printed no ExecCredential"),
    "nothing": ("", "printed no ExecCredential with a status"),
    "no status": ("print('{}')", "printed no ExecCredential with a status"),
    "an empty status": (credential(), "printed neither a token nor a client certificate"),
    "no key": (credential(clientCertificateData="C"), "printed neither a token nor a client"),
    "an exit code": (
        "import sys; sys.exit('first\\nno session: log in')",
        "ended with 1: no session: log in",
    ),
    "an expiry before the first year": (
        credential(token="t", expirationTimestamp="0001-01-01T00:00:00+14:00"),
        "printed no ExecCredential with a status",
    ),
    "an expiry after the last year": (
        credential(token="t", expirationTimestamp="9999-12-31T23:59:59-14:00"),
        "printed no ExecCredential with a status",
    ),
    "garbage without end": (
        f"import os\nfor _ in range(9): os.write(1, b'x' * {OUTPUT_BYTES})",
        "printed no ExecCredential with a status",
    ),
}


@pytest.mark.parametrize(("program", "problem"), FAILURES.values(), ids=FAILURES)
async def test_a_failure_names_the_plugin_and_what_to_do(program: str, problem: str) -> None:
    message = await failure(program)

    assert message.startswith(f"config: the exec plugin {sys.executable!r} {problem}")
    assert message.endswith(
        "run the command of this user's exec entry by hand, and correct the entry"
    )


ENTRIES: dict[str, tuple[dict[str, Any], str]] = {
    "a variable without a value": ({"env": [{"name": "A"}]}, "$.env[0]"),
    "variables as a mapping": ({"env": {"A": "b"}}, "$.env"),
    "arguments as a text": ({"args": "abc"}, "$.args"),
    "a number": ({"args": [1]}, "$.args[0]"),
    "a version that is a number": ({"apiVersion": 1}, "$.apiVersion"),
    "NUL in an argument": ({"args": ["-c", "\0"]}, "$.args[1]"),
    "NUL in a value": ({"env": [{"name": "A", "value": "a\0b"}]}, "$.env[0].value"),
    "no command": ({"command": None}, "$.command"),
}


@pytest.mark.parametrize(("entry", "place"), ENTRIES.values(), ids=ENTRIES)
async def test_a_malformed_entry_is_named(entry: dict[str, Any], place: str) -> None:
    message = await failure(credential(token="t"), **entry)

    assert message.startswith("config: the exec plugin ")
    assert "has an invalid entry: " in message
    assert place in message


async def test_an_entry_that_is_no_mapping_is_named() -> None:
    plugin = ExecPlugin("config", {"exec": "login"}, lambda: NOW, PLUGIN_S)

    with pytest.raises(
        SourceError, match=r"the exec plugin None has an invalid entry: .* `command`"
    ):
        await plugin.refresh()


async def test_a_variable_that_the_system_refuses_is_named() -> None:
    message = await failure(credential(token="t"), env=[{"name": "A=B", "value": ""}])

    assert "cannot be started: " in message
    assert "illegal environment variable name" in message


async def test_an_empty_value_is_set() -> None:
    program = "import os; print('{\"status\": {\"token\": \"t' + os.environ['A'] + '\"}}')"

    user = await refresh(program, env=[{"name": "A", "value": ""}])

    assert user["token"] == "t"


async def test_a_plugin_that_is_not_there_is_named() -> None:
    message = await failure("", command="/nowhere/plugin")

    assert "plugin '/nowhere/plugin' cannot be started: No such file or directory" in message


def alive(file: Path) -> bool:
    """Whether the process whose id is in a file is alive."""
    try:
        status = Path(f"/proc/{file.read_text()}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_plugin_that_hangs_is_killed(
    loop: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path
) -> None:
    file = tmp_path / "pid"
    note = f"import os; open({str(file)!r}, 'w').write(str(os.getpid()));"

    with asyncio.Runner(loop_factory=loop) as runner:
        message = runner.run(failure(note + HANG, seconds=2.0))

    assert "did not end in 2 s, and was killed" in message
    until(lambda: not alive(file), "the plugin to be gone")


FORK = "import os\nif child := os.fork():\n    open({!r}, 'w').write(str(child))\n"


async def test_the_children_of_a_plugin_that_hangs_are_killed(tmp_path: Path) -> None:
    file = tmp_path / "pid"

    message = await failure(FORK.format(str(file)) + HANG, seconds=2.0)

    assert "was killed" in message
    await asyncio.to_thread(until, lambda: not alive(file), "the child to be gone")


async def test_a_child_that_keeps_the_output_open_delays_nothing(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    program = f"{FORK.format(str(file))}    {credential(token='secret')}\nelse:\n    {HANG}"

    try:
        assert (await refresh(program))["token"] == "secret"
        assert alive(file)
    finally:
        os.kill(int(file.read_text()), 9)
