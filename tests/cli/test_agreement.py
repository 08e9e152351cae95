"""
Audits report Pending pods where ``explain`` leaves some, and ``fix`` leaves no more of them.

Workloads have at most one hard constraint, so that the order of placement does not matter.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.build import Json
from tests.cli.conftest import Run
from webhook.fix.harm import CLOSED_RULES, PENDING_RULES
from webhook.policy.model import HOSTNAME, ZONE

REPORTING = PENDING_RULES | CLOSED_RULES | {"TSC120"}
"""The rules about pods that stay Pending."""

CLAIMS = ("Pending", "have a place")
"""What the finding says of pods that have no place."""

STATES: Mapping[str, Json] = {
    "open": {},
    "cordoned": {
        "unschedulable": True,
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
    },
    "tainted": {"taints": [{"key": "gpu", "value": "a100", "effect": "NoSchedule"}]},
    "not ready": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]},
}
OPEN = st.just("open")
GPU = [{"key": "gpu", "operator": "Exists"}]


@st.composite
def clusters(draw: st.DrawFn) -> list[Json]:
    """Draw one to six nodes of up to four zones; some lack a label, or take no pods."""
    found: list[Json] = []
    for number in range(draw(st.integers(1, 6))):
        optional = {ZONE: st.sampled_from("aabbcd"), "pool": st.sampled_from(("web", "db"))}
        labels = draw(st.fixed_dictionaries({}, optional=optional))
        state = draw(OPEN | OPEN | st.sampled_from(sorted(STATES)))
        name = f"n{number}"
        metadata = {"name": name, "labels": {HOSTNAME: name, "rack": name[-1:], **labels}}
        found.append(
            {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": STATES[state]}
        )
    return found


@st.composite
def constraints(draw: st.DrawFn, action: str) -> Json:
    """Draw a constraint that counts the pods of the workload."""
    optional: dict[str, st.SearchStrategy[Any]] = {
        "nodeTaintsPolicy": st.sampled_from(("Honor", "Ignore")),
        "nodeAffinityPolicy": st.sampled_from(("Honor", "Ignore")),
    }
    if action == "DoNotSchedule":
        optional["minDomains"] = st.integers(1, 4)
    return {
        "maxSkew": draw(st.integers(1, 2)),
        "topologyKey": draw(st.sampled_from((ZONE, HOSTNAME, "rack"))),
        "whenUnsatisfiable": action,
        "labelSelector": {"matchLabels": {"app": "web"}},
        **draw(st.fixed_dictionaries({}, optional=optional)),
    }


@st.composite
def workloads(draw: st.DrawFn) -> Json:
    """Draw a workload with a hard constraint and perhaps a soft one."""
    kind = draw(st.sampled_from(("Deployment", "StatefulSet", "ReplicaSet")))
    optional = {
        "nodeSelector": st.sampled_from(({"pool": "web"}, {"pool": "db"})),
        "tolerations": st.just(GPU),
    }
    listed = [draw(constraints("DoNotSchedule"))]
    if draw(st.booleans()):
        listed.append(draw(constraints("ScheduleAnyway")))
    spec = {
        "containers": [{"name": "web", "image": "nginx"}],
        "topologySpreadConstraints": listed,
        **draw(st.fixed_dictionaries({}, optional=optional)),
    }
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": draw(st.integers(1, 7)),
            "selector": {"matchLabels": {"app": "web"}},
            "template": template,
        },
    }


class Judge:
    """The commands, on one workload and one cluster."""

    def __init__(self, folder: Path, run: Run, nodes: list[Json]) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": nodes}
        (folder / "facts.json").write_bytes(msgspec.json.encode(listed))
        self._file, self._run = folder / "web.json", run

    def write(self, workload: Json) -> None:
        """Write the workload."""
        self._file.write_bytes(msgspec.json.encode(workload))

    def _call(self, command: str, *options: str) -> Any:
        ran = self._run(
            command, "-f", self._file.name, "--facts", "facts.json", "-o", "json", *options
        )
        return msgspec.json.decode(ran.out)

    def count_pending(self) -> int:
        """Count the replicas that have no place, by ``explain``."""
        return int(self._call("explain", "--what-if")["whatIf"]["pending"])

    def list_findings(self) -> list[Json]:
        """List the findings of an audit about Pending pods."""
        (report,) = self._call("audit")["workloads"]
        return [one for one in report["findings"] if one["rule"] in REPORTING]

    def fix(self) -> None:
        """Fix everything, also what changes the request of the author."""
        self._run("fix", self._file.name, "--facts", "facts.json", "--rules", "TSC*")


@pytest.mark.parametrize("is_fixed", [False, True], ids=["as it is", "fixed"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workloads(), clusters())
def test_audits_and_explanations_agree(
    folder: Path, run: Run, is_fixed: bool, workload: Json, nodes: list[Json]
) -> None:
    judge = Judge(folder, run, nodes)
    judge.write(workload)
    before = judge.count_pending()
    if is_fixed:
        judge.fix()

    pending, found = judge.count_pending(), judge.list_findings()

    assert pending <= before
    assert bool(found) or not pending
    problems = [one["problem"] for one in found if "rollout" not in one["problem"]]
    claimed = [one for one in problems if any(word in one for word in CLAIMS)]
    assert pending or not claimed
