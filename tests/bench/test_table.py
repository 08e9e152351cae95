"""What people and programs read of a run."""

import json

import pytest

from tests.bench import servers
from tests.bench.__main__ import main, measure
from tests.bench.cpu import choose_cores
from tests.bench.measurements import Options, all_steps
from tests.bench.rounds import Round
from tests.bench.rows import Must, Row
from tests.bench.table import as_json, circumstances, show

ROWS = [
    Row("mutate", "floor 40 us", "80 us", [2.0, 2.1, 2.2], Must(1.8)),
    Row("memory", "", "", [63.0], Must(64, "MiB")),
]


def test_a_row_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS, ["Load: own."])

    title, mutate, memory, message = capsys.readouterr().out.splitlines()
    titles = "what compared with measured result middle half must be"
    first = "mutate floor 40 us 80 us 2.10 x 2.05 - 2.15 <= 1.8 x missed"
    assert title.split() == titles.split()
    assert mutate.split() == first.split()
    assert memory.split() == ["memory", "63.0", "MiB", "<=", "64", "MiB", "reached"]
    assert message == "Load: own."


def test_programs_read_every_round() -> None:
    document = json.loads(as_json(ROWS, ["Load: own."]))

    assert document["rows"][0]["rounds"] == [2.0, 2.1, 2.2]
    assert document["rows"][0]["mark"] == "missed"
    assert document["remarks"] == ["Load: own."]


def test_a_quiet_machine_and_a_busy_server_need_one_remark() -> None:
    (message,) = circumstances("own, 16 connections", [Round(1, 1.0, running=0.99, waiting=0.01)])

    assert message == "Load: own, 16 connections; servers were busy 100% of the time: saturated."


NOISES = {
    "the server waited": Round(1, 1.0, running=0.6, waiting=0.39),
    "the load waited": Round(1, 1.0, running=0.7, waiting=0.0, starved=0.3),
}


@pytest.mark.parametrize("noisy", NOISES.values(), ids=NOISES)
def test_other_load_on_the_machine_is_reported(noisy: Round) -> None:
    assert "p99 is meaningless" in circumstances("own", [noisy])[-1]


def test_without_load_there_is_nothing_to_remark() -> None:
    assert circumstances("own", []) == []


def test_a_run_without_load_starts_no_server() -> None:
    cores = choose_cores({0, 1})
    options = Options(rounds=1, seconds=0.01, program=servers.EVENSPREAD, cores=cores)

    steps = all_steps(with_peer=False, with_plane=False)
    (row,), remarks = measure(options, "own", {"help": steps["evenspread --help"]})

    assert row.what == "evenspread --help"
    assert row.value > 0
    assert remarks == []


ON_REQUEST = {
    "with_peer": {"calls a second, as against Go"},
    "with_plane": {
        "memory beside a small cluster",
        "audit of a small live cluster",
        "creating a pod, p50",
        "creating a pod, p99",
        "API server CPU to create a pod",
        "pods created a second",
        "binding a ranked pod, p50",
        "p99 while 100,000 objects stream in",
        "first list of 115,000 objects",
        "memory with all these",
    },
}


@pytest.mark.parametrize("flag", ON_REQUEST)
def test_what_has_to_be_built_first_is_measured_only_on_request(flag: str) -> None:
    neither = {"with_peer": False, "with_plane": False}

    steps = all_steps(**neither | {flag: True})

    assert steps.keys() - all_steps(**neither).keys() == ON_REQUEST[flag]


def test_wrong_usage_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--rounds", "0"])

    assert ended.value.code == 2
    assert "--rounds" in capsys.readouterr().err
