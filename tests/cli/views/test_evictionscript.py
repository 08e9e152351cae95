"""The script of a plan is run with a kubectl that records its calls."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.rebalance.situations import Situation, web_pods
from webhook.cli.views.evictionscript import format_script
from webhook.rebalance.plan import RebalancePlan

PLAN = Situation(web_pods({"a1": 5, "b1": 1, "c1": 1})).plan()

KUBECTL = """\
#!/bin/sh
echo "$*" >> calls
case "$1" in
  create) cat >> bodies; exit "${REFUSES:-0}" ;;
  get) [ "$(wc -l < calls)" != "${FAILS:-}" ] || exit 1
    [ "$(wc -l < calls)" = "${ABSENT:-}" ] || printf %s "uid-$(wc -l < calls)" ;;
esac
"""
"""
Each look-up of a uid finds another pod: the evicted one is gone. None exists at call ABSENT, and
call FAILS fails.
"""


def run(plan: RebalancePlan, folder: Path, **variables: str) -> tuple[int, list[str]]:
    """Run the script of a plan; returns its exit code and the calls of kubectl."""
    program = folder / "kubectl"
    program.write_text(KUBECTL)
    program.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh"],
        input=format_script(plan),
        cwd=folder,
        env={"PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    calls = folder / "calls"
    return done.returncode, calls.read_text().splitlines() if calls.exists() else []


def test_pods_are_evicted_one_after_another(tmp_path: Path) -> None:
    code, calls = run(PLAN, tmp_path)

    uid = "-n shop --ignore-not-found -o jsonpath={.metadata.uid}"
    assert code == 0
    assert calls == [
        call
        for pod in ("web-0", "web-1")
        for call in (
            f"get pod {pod} {uid}",
            f"create --raw /api/v1/namespaces/shop/pods/{pod}/eviction -f -",
            f"get pod {pod} {uid}",
            "rollout status deployment/web -n shop --timeout=10m",
        )
    ]
    first, second, *_ = (tmp_path / "bodies").read_text().splitlines()
    assert msgspec.json.decode(first + second) == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": "shop", "name": "web-0"},
        "deleteOptions": {"preconditions": {"uid": "uid-1"}},
    }


def test_a_comment_names_the_node_that_the_next_steps_assume() -> None:
    script = format_script(PLAN)

    first, second = PLAN.steps
    comment = f"# Deployment/web, from a1 to b1 or c1; the next steps assume {first.target}\n"
    assert comment in script
    assert script.count("assume") == 1
    assert format_script(replace(PLAN, steps=(second,))).count("assume") == 0


def test_a_refused_eviction_ends_the_script(tmp_path: Path) -> None:
    code, calls = run(PLAN, tmp_path, REFUSES="1")

    assert code == 1
    assert len(calls) == 2


def test_the_pod_of_a_stateful_set_is_waited_for_by_its_name(tmp_path: Path) -> None:
    """``kubectl rollout status`` refuses a StatefulSet with the strategy OnDelete."""
    step = replace(PLAN.steps[0], workload="StatefulSet/web")

    code, calls = run(replace(PLAN, steps=(step,)), tmp_path, ABSENT="4")

    assert code == 0
    assert [call.split()[0] for call in calls] == ["get", "create", "get", "get", "get", "wait"]
    assert calls[-1] == "wait --for=condition=Ready pod/web-0 -n shop --timeout=10m"


@pytest.mark.parametrize("number", ["1", "3", "4"])
def test_a_look_up_that_fails_ends_the_script(tmp_path: Path, number: str) -> None:
    """The pod is not taken to be gone, or its replacement to exist."""
    step = replace(PLAN.steps[0], workload="StatefulSet/web")

    code, calls = run(replace(PLAN, steps=(step,)), tmp_path, FAILS=number)

    assert code == 1
    assert len(calls) == int(number)


def test_a_pod_that_was_replaced_since_the_plan_is_not_evicted(tmp_path: Path) -> None:
    first, second = PLAN.steps[0], replace(PLAN.steps[1], uid="uid-1")

    code, calls = run(replace(PLAN, steps=(replace(first, uid="uid-1"), second)), tmp_path)

    assert code == 1
    assert [call.split()[0] for call in calls] == ["get", "create", "get", "rollout", "get"]


def test_other_workloads_have_no_status_to_wait_for() -> None:
    steps = tuple(replace(step, workload="ReplicaSet/web") for step in PLAN.steps)
    script = format_script(replace(PLAN, steps=steps))

    assert "rollout" not in script
    assert script.count("read -r _") == 2


def test_a_pod_that_does_not_exist_yet_ends_the_script() -> None:
    again = replace(PLAN, steps=(PLAN.steps[0], PLAN.steps[0], PLAN.steps[1]))
    script = format_script(again)

    assert script.count("\nevict ") == 1
    assert "do not exist yet" in script


def test_names_of_files_are_no_commands(tmp_path: Path) -> None:
    """A file may contain any text as a name."""
    first, touch = PLAN.steps[0], "\ntouch hit; $(touch hit)"
    step = replace(
        first, pod=f"x{touch}", node=f"a1{touch}", workload=f"Foo/x{touch}", uid=f"u{touch}"
    )

    run(replace(PLAN, steps=(step,)), tmp_path)

    assert not (tmp_path / "hit").exists()


def test_a_plan_without_evictions_calls_nothing(tmp_path: Path) -> None:
    assert run(Situation([]).plan(), tmp_path) == (0, [])
