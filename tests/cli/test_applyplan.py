"""``evenspread rebalance --apply``: questions, reports and exit codes."""

import sys

import pytest

from tests.apiserver import ApiServer, refuse
from tests.cli.conftest import Run, Screen
from tests.cli.evictions import EvictingServer
from tests.cluster.scheduling.unevenshop import NODES, uneven_pods
from webhook.__main__ import main

APPLY = ("rebalance", "--kubeconfig", "kubeconfig", "-n", "shop", "--apply")


@pytest.fixture
def evicting(api: ApiServer) -> EvictingServer:
    """A cluster in which one eviction is necessary, and the replacement is on b1."""
    api.add(*NODES, *uneven_pods())
    return EvictingServer(api, "b1", "c1")


def test_replacements_are_reported(evicting: EvictingServer, run: Run) -> None:
    ran = run(*APPLY, "--yes")

    assert (ran.code, ran.err, evicting.evicted) == (0, "", ["web-0"])
    assert ran.out.endswith(
        "1 eviction; no plan needs fewer\n"
        "evicted shop/web-0 on a1: new-1 is ready on b1\n"
        "1 pod replaced; no evictions: every constraint holds\n"
    )


def test_the_result_is_a_document(evicting: EvictingServer, run: Run) -> None:
    (document,) = run(*APPLY, "--yes", "-o", "json").documents

    assert document["evicted"] == [
        {
            "namespace": "shop",
            "pod": "web-0",
            "workload": "Deployment/web",
            "node": "a1",
            "replacement": "new-1",
            "target": "b1",
            "planned": True,
        }
    ]
    assert (document["stopped"], document["detail"]) == (None, "")
    assert document["plan"]["evictions"] == []
    assert evicting.evicted == ["web-0"]


def test_reports_are_written_to_stdout_beside_a_progress_bar(
    evicting: EvictingServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The bar is on a terminal, the standard output in a file."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(sys, "stderr", Screen())

    assert main([*APPLY, "--yes"]) == 0

    assert evicting.evicted == ["web-0"]
    assert "evicted shop/web-0 on a1: new-1 is ready on b1\n" in capsys.readouterr().out


def test_a_pod_elsewhere_is_reported(evicting: EvictingServer, run: Run) -> None:
    evicting.nodes = ["a1", "c1"]

    ran = run(*APPLY, "--yes")

    assert ran.code == 0
    assert "new-1 is ready on a1, which was not planned\n" in ran.out
    assert len(evicting.evicted) == 2


def test_a_refusal_stops_it(evicting: EvictingServer, run: Run) -> None:
    evicting.refuses = True

    ran = run(*APPLY, "--yes")

    assert ran.code == 3
    assert ran.err.startswith("error: stopped, since an eviction is refused: shop/web-0: ")
    assert ran.err.endswith("answered 403: forbidden: no\n")


def test_without_a_terminal_yes_is_required(evicting: EvictingServer, run: Run) -> None:
    ran = run(*APPLY)

    assert (ran.code, evicting.evicted) == (2, [])
    assert "--yes: is missing: there is no terminal" in ran.err


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 130)])
def test_the_user_is_asked(
    evicting: EvictingServer,
    answer: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", Screen(f"{answer}\n"))

    assert main(APPLY) == code
    assert evicting.evicted == (["web-0"] if answer == "y" else [])
    assert "evict 1 pod? [y/N]: " in capsys.readouterr().err


def test_an_api_server_that_does_not_answer_ends_it(
    api: ApiServer, evicting: EvictingServer, run: Run
) -> None:
    evicting.nodes = ["b1"]
    path = "/api/v1/namespaces/shop/pods"
    api.answers[f"GET {path}"] = refuse("no", 500)

    ran = run(*APPLY, "--yes")

    assert (ran.code, evicting.evicted) == (3, ["web-0"])
    assert ran.err.startswith("stopped after 1 eviction with 0 replacements ready: plan again\n")
