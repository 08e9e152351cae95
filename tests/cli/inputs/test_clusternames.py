"""Names that shells complete from a kubeconfig or a cluster."""

import os
import signal
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
    os.mkfifo(folder / "token")
    users = "users: [{name: a, user: {tokenFile: token}}]\n"
    text = (KUBECONFIG % "").partition("users:")[0] + users
    (folder / "kubeconfig").write_text(text)
    CONTEXT.params = {"kubeconfig": "kubeconfig"}

    def alarm() -> None:
        with (folder / "token").open("w"):  # waits until it is read
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
            interrupted.wait(PATIENCE_S)  # the reader waits for what is never written

    interrupted, thread = threading.Event(), threading.Thread(target=alarm)
    thread.start()
    found = find_namespaces(CONTEXT, PATIENCE_S)
    interrupted.set()
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
