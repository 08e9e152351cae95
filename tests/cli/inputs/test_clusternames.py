"""Names that shells complete from a kubeconfig or a cluster."""

import os
import signal
import socket
import threading
from pathlib import Path

import click
import pytest

from tests.apiserver import ApiServer
from tests.cli.kubeconfigs import KUBECONFIG
from webhook.cli.inputs.clusternames import find_namespaces, find_policies

CONTEXT = click.Context(click.Command("x"))
PATIENCE_S = 60.0


def test_namespaces_are_those_of_the_cluster(api: ApiServer) -> None:
    for name in ("shop", "search"):
        api.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    CONTEXT.params = {"kubeconfig": "kubeconfig", "context": "x"}

    assert find_namespaces(CONTEXT, PATIENCE_S) == [("search", ""), ("shop", "")]


def test_a_plugin_that_goes_on_is_killed(folder: Path) -> None:
    (folder / "kubeconfig").write_text(KUBECONFIG % "echo $$ > pid; exec sleep 600")
    CONTEXT.params = {"kubeconfig": "kubeconfig"}

    assert find_namespaces(CONTEXT, 0.5) == [("shop", "")]
    if (pid := folder / "pid").exists():  # the plugin had time to start
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


def test_the_alarm_interrupts_what_cannot_be_cancelled(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_S)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        text = (KUBECONFIG % "").replace("http://127.0.0.1:1", address)
        (folder / "kubeconfig").write_text(text.partition("users:")[0] + "users: []\n")
        CONTEXT.params = {"kubeconfig": "kubeconfig"}

        answered = threading.Event()

        def alarm() -> None:
            connection, _ = server.accept()
            with connection:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
                answered.wait(PATIENCE_S)  # the client's end may stay open until it is collected

        thread = threading.Thread(target=alarm)
        thread.start()
        found = find_namespaces(CONTEXT, PATIENCE_S)
        answered.set()
        thread.join()

    assert found == [("shop", "")]


def test_policies_are_those_of_the_cluster(api: ApiServer) -> None:
    for name in ("zones", "others"):
        api.add(
            {
                "apiVersion": "evenspread.io/v1alpha1",
                "kind": "SpreadPolicy",
                "metadata": {"name": name},
            }
        )
    CONTEXT.params = {"kubeconfig": "kubeconfig", "context": "x"}

    assert find_policies(CONTEXT, PATIENCE_S) == [("others", ""), ("zones", "")]
