"""What-if scenarios of a pod that runs start with the pod on its node."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODE, POD

NODES = "".join(NODE % (f"{zone}1", f"{zone}1", f"zone-{zone}", "false") for zone in "abc")
PODS = "".join(POD % (number, f"{zone}1") for number, zone in enumerate("abcabc"))
NULL = "".join(
    (POD % (f"null-{number}", "a1")).replace("app: web", f"app: {value}")
    for number, value in enumerate(('""', ""))
)
NODE_OF_LAST = "  nodeName: c1\n"


@pytest.fixture
def even(folder: Path) -> Path:
    """Three zones of one node each, with two pods each; web-5 runs on c1."""
    path = folder / "even.yaml"
    path.write_text(f"{NODES}{PODS}")
    return path


def run_explain(run: Run, *options: str) -> tuple[int, Any]:
    ran = run("explain", "-n", "shop", "--facts", "even.yaml", "-o", "json", *options)
    assert ran.err == ""
    return ran.code, json.loads(ran.out)


@pytest.mark.usefixtures("even")
@pytest.mark.parametrize("options", [("--cordon", "c1"), ("--what-if",), ("--scale", "6")])
def test_a_pod_that_runs_stays_on_its_node(run: Run, options: tuple[str, ...]) -> None:
    code, result = run_explain(run, "pod/web-5", *options)

    what_if = result["whatIf"]
    assert (code, what_if["running"], what_if["placed"], what_if["pending"]) == (0, 6, {}, 0)
    assert [(skew["before"], skew["after"]) for skew in what_if["skews"]] == [(0, 0)]


@pytest.mark.usefixtures("even")
def test_a_pod_on_a_lost_node_is_placed_again(run: Run) -> None:
    _, result = run_explain(run, "pod/web-5", "--without", "zone=zone-c")

    what_if = result["whatIf"]
    assert (what_if["running"], what_if["placed"]) == (4, {"a1": 1, "b1": 1})
    assert [(skew["before"], skew["after"]) for skew in what_if["skews"]] == [(0, 0)]


def test_a_pod_that_is_pending_is_placed(even: Path, run: Run) -> None:
    before, _, after = even.read_text().rpartition(NODE_OF_LAST)
    even.write_text(before + after)

    _, result = run_explain(run, "pod/web-5", "--what-if")

    assert (result["whatIf"]["running"], result["whatIf"]["placed"]) == (5, {"c1": 1})


@pytest.mark.usefixtures("even")
def test_the_explanation_after_it_is_of_the_next_pod(run: Run) -> None:
    _, result = run_explain(run, "pod/web-5", "--cordon", "c1")

    explanation = result["explanation"]
    assert explanation["subject"] == "after that, the next pod like Pod shop/web-5"
    assert [row["pods"] for row in explanation["constraints"][0]["domains"]] == [2, 2, 2]


def test_a_pod_with_a_null_label_counts_as_one_with_an_empty_label(even: Path, run: Run) -> None:
    even.write_text(f"{even.read_text()}{NULL}")

    explanation = run_explain(run, "pod/web-null-1")[1]["explanation"]

    assert explanation["runsOn"] == "a1"
    assert explanation["constraints"][0]["domains"][0]["pods"] == 1


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_runs_on_no_node(even: Path, run: Run, phase: str) -> None:
    even.write_text(f"{even.read_text()}status: {{phase: {phase}}}\n")

    code, result = run_explain(run, "pod/web-5")

    explanation = result["explanation"]
    assert (code, explanation["runsOn"], explanation["phase"]) == (0, "", phase)
    assert explanation["sentence"].startswith(
        f"has ended ({phase}) and runs on no node; a new pod like it can be placed on 1 of 3 nodes"
    )


def test_a_pod_that_has_ended_awaits_no_node(even: Path, run: Run) -> None:
    text = even.read_text().replace("unschedulable: false", "unschedulable: true")
    even.write_text(f"{text}status: {{phase: Failed}}\n")

    code, result = run_explain(run, "pod/web-5")

    assert (code, result["explanation"]["placeable"]) == (0, False)


def test_a_what_if_of_a_pod_that_has_ended_is_about_new_pods(even: Path, run: Run) -> None:
    even.write_text(f"{even.read_text()}status: {{phase: Failed}}\n")

    code, result = run_explain(run, "pod/web-5", "--what-if")

    explanation = result["explanation"]
    assert (code, result["whatIf"]["placed"], explanation["phase"]) == (0, {"c1": 1}, "")
    assert explanation["subject"] == "after that, the next pod like Pod shop/web-5"
    assert explanation["sentence"].startswith("can be placed on 3 of 3 nodes")
