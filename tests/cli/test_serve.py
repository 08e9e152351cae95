import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import files
from tests.cli.conftest import Run
from tests.cli.processes import ROOT, spawn
from tests.config.configs import HEAD
from webhook.config.settings import setting_table

EXAMPLES = Path(__file__).parents[2] / "examples"
REVIEW = EXAMPLES / "reviews/checkout-pod.json"

PATIENCE_S = 60  # a hanging server must end

ANY_PORTS = ("--port", "0", "--health-port", "0")

SERVES = """
import os, signal, sys
import webhook.cli.serve
from webhook.config.settings import read_settings
from webhook.server.run import run

flags = dict(standalone=True, port="0", health_port="0", facts=sys.argv[1], config=sys.argv[2])
run(read_settings(flags), print, lambda ready: os.kill(os.getpid(), signal.SIGINT))
print("imported:", *sys.modules)
"""
"""Serves until it is ready, and prints the imported modules."""

NEEDLESS = {
    "jinja2": "pages of audits",
    "kubernetes_asyncio": "a cluster",
    "pygments": "colours, by rich",
    "rich": "tables; structlog imports it by default",
    "webhook.audit": "audits, which another process runs",
    "webhook.cli.views": "what commands show",
    "webhook.doctor.checks": "another command",
    "webhook.fix": "another command",
    "webhook.explain": "another command",
    "webhook.spreadtest": "another command",
}
"""Module that a server without cluster and demo must not import -> what needs it."""


def test_a_demo_shows_the_answer_of_the_running_server(folder: Path) -> None:
    """Start a server, send a review over TLS, and show the answer."""
    with spawn(
        folder,
        *("serve", "--standalone", *ANY_PORTS, "--demo", str(REVIEW)),
        *("--facts", str(EXAMPLES / "cluster")),
        *("--config", str(EXAMPLES / "config/spread.yaml")),
    ) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.decode().rstrip("\n"))
            if lines[-1] == "Ctrl-C stops the server":
                break
        sent = subprocess.run(
            shlex.split(lines[-2]), cwd=folder, capture_output=True, check=True, text=True
        )
        process.send_signal(signal.SIGINT)
        process.communicate()

    assert lines[0].startswith("serving at https://127.0.0.1:")
    assert lines[1:5] == [
        f"answer to POST /mutate with {REVIEW}:",
        "Pod shop/checkout-7d4b9c6f5d-: allowed",
        "--- Pod shop/checkout-7d4b9c6f5d- as sent",
        "+++ Pod shop/checkout-7d4b9c6f5d- as patched",
    ]
    assert "+  topologySpreadConstraints:" in lines
    assert json.loads(sent.stdout)["response"]["patchType"] == "JSONPatch"
    assert process.returncode == 0


def test_a_server_holds_no_modules_that_only_others_need(folder: Path) -> None:
    files = (str(EXAMPLES / "cluster"), str(EXAMPLES / "config/spread.yaml"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    done = subprocess.run(
        [sys.executable, "-c", SERVES, *files],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=True,
        text=True,
        timeout=PATIENCE_S,
    )

    serves, *_, last = done.stdout.splitlines()
    imported = last.split()
    assert " serves on https://127.0.0.1:" in serves
    assert imported[0] == "imported:"
    assert "webhook.server.run" in imported
    assert set(NEEDLESS).isdisjoint(imported)


def test_a_port_in_use_is_an_error(folder: Path, run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        ran = run("serve", "--standalone", "--port", port, "--health-port", "0")

    assert ran.code == 2
    assert ran.err.splitlines()[-1] == (
        f"error: cannot listen on 127.0.0.1 port {port}: Address already in use: choose a "
        "free one with --port, --health-port or --bind"
    )


# arguments, message
ERRORS: dict[str, tuple[tuple[str, ...], str]] = {
    "outside of a pod": ((), "error: --namespace: is needed outside of a pod; or try it without"),
    "manifests beside a live cluster": (
        ("--namespace", "a", "--facts", "pod.yaml"),
        "error: --facts: replaces a live cluster: add --standalone",
    ),
    "a demo without a certificate that it trusts": (
        ("--namespace", "a", "--demo", str(REVIEW)),
        "error: --demo: requires the standalone CA",
    ),
    "a demo without a client certificate": (
        ("--standalone", "--client-ca", "ca.crt", "--demo", str(REVIEW)),
        "error: --demo: presents no client certificate: leave out --client-ca",
    ),
    "an invalid port": (("--standalone", "--port", "high"), "error: --port: must be a port"),
    "an unknown format of the log": (
        ("--standalone", "--log-format", "xml"),
        "error: --log-format: ",
    ),
    "a configuration that is missing": (
        ("--standalone", "--config", "missing.yaml"),
        "error: 'missing.yaml' cannot be read: ",
    ),
    "an overlap for tests": (
        ("--standalone", "--config", "hasty.yaml"),
        (
            "error: hasty.yaml:3: caOverlap: is too short for every client to load a new CA: "
            "write 60s or more"
        ),
    ),
    "an overlap too short for tests": (
        ("--standalone", "--config", "hastier.yaml", "--test-lifetimes", "leaf=10s"),
        (
            "error: hastier.yaml:3: caOverlap: is too short for every client to load a new CA: "
            "write 1s or more"
        ),
    ),
    "a lifetime of an unknown certificate": (
        ("--standalone", "--test-lifetimes", "10s"),
        "error: --test-lifetimes: '10s' is no certificate: write leaf or ca, as in leaf=10s,ca=1h",
    ),
    "a cluster that is missing": (
        ("--standalone", "--facts", "missing"),
        "error: --facts: there is no file or folder",
    ),
    "a review that is missing": (
        ("--standalone", "--demo", "missing.json"),
        "error: --demo: 'missing.json' cannot be sent: No such file",
    ),
    "a review that is not JSON": (
        ("--standalone", "--demo", "pod.yaml"),
        "error: --demo: 'pod.yaml' cannot be sent: it is not JSON",
    ),
    "a review without a request": (
        ("--standalone", "--demo", "empty.json"),
        "error: --demo: 'empty.json' is not an AdmissionReview: it has no request",
    ),
}


@pytest.mark.parametrize(("args", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_invalid_settings_are_errors(
    args: tuple[str, ...], message: str, folder: Path, run: Run
) -> None:
    (folder / "pod.yaml").write_text(files.POD)
    (folder / "empty.json").write_text("{}")
    (folder / "hasty.yaml").write_text(f"{HEAD}caOverlap: 5s\n")
    (folder / "hastier.yaml").write_text(f"{HEAD}caOverlap: 500ms\n")

    ran = run("serve", *ANY_PORTS, *args)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith(message)


def test_an_invalid_variable_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENSPREAD_HEALTH_PORT", "high")

    ran = run("serve", "--standalone")

    assert (ran.code, ran.err.split(": ")[1]) == (2, "EVENSPREAD_HEALTH_PORT")


def test_help_names_every_setting_and_its_variable(run: Run) -> None:
    out = run("serve", "--help").out

    assert [row.flag for row in setting_table() if f"{row.flag} " not in out] == []
    assert [row.variable for row in setting_table() if f"[{row.variable}" not in out] == []


HELP = """
import sys
from webhook.__main__ import main

main(["serve", "--help"])
print("imported:", *sys.modules)
"""

SERVER_LIBRARIES = {"aiohttp", "cryptography", "prometheus_client", "structlog", "uvloop"}


def test_the_help_needs_no_library_of_the_server() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", HELP], capture_output=True, text=True, check=True, cwd=ROOT
    )

    _, _, modules = ran.stdout.rpartition("imported:")
    assert "Run the admission server" in ran.stdout
    assert not SERVER_LIBRARIES & set(modules.split())
    assert "webhook.server" not in modules.split()
