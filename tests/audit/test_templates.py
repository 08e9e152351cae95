"""A Rollout with a workloadRef creates its pods from the template of a Deployment."""

import pytest
from msgspec.structs import replace

from tests.audit.world import DEPLOYMENT as WEB
from tests.audit.world import REFERRING, audit, gather, inventory, pod, rules
from tests.audit.world import REPLICA_SET as STORED_SET
from tests.fix.fixed import options, run_fix
from webhook.audit.templates import find_unknown, list_templates
from webhook.policy.kinds import ROLLOUT

TEMPLATE = (
    WEB.replace("name: web, namespace", "name: template, namespace")
    .replace("replicas: 4", "replicas: 0")
    .replace("DoNotSchedule", "ScheduleAnyway")
)

OWN_SET = STORED_SET.replace("web-1", "template-1").replace("name: web,", "name: template,")
REPLICA_SET = STORED_SET.replace(
    "apiVersion: apps/v1, kind: Deployment", "apiVersion: argoproj.io/v1alpha1, kind: Rollout"
)
RUNNING = pod("web-1-a", "node-a", "ReplicaSet/web-1")


def test_the_template_is_judged_with_the_pods_of_the_rollout() -> None:
    snapshot = gather(REFERRING + TEMPLATE + REPLICA_SET + RUNNING).snapshot
    judged, listed = inventory(snapshot).audited
    subject = judged.subject

    assert (str(subject), subject.replicas) == ("Deployment/template", 5)
    assert (subject.creator, subject.pods_kind) == (ROLLOUT, ROLLOUT)
    assert [dict(group.nodes) for group in subject.running] == [{"node-a": 1}]
    assert (judged.is_judged, listed.is_judged) == (True, False)


@pytest.mark.parametrize(("replicas", "is_shared"), [("replicas: 0", False), ("replicas: 2", True)])
def test_a_deployment_with_replicas_has_pods_beside_those_of_the_rollout(
    replicas: str, is_shared: bool
) -> None:
    judged, _ = inventory(
        gather(REFERRING + TEMPLATE.replace("replicas: 0", replicas)).snapshot
    ).audited

    assert judged.subject.is_shared == is_shared


@pytest.mark.parametrize("max_surge", [0, 1])
def test_the_strategy_is_that_of_the_rollout(max_surge: int) -> None:
    rollout = REFERRING.replace("canary: {", f"canary: {{maxSurge: {max_surge}, ")
    template = TEMPLATE.replace("replicas: 0", "replicas: 0\n  strategy: {type: Recreate}")

    judged, _ = inventory(gather(rollout + template).snapshot).audited

    assert (judged.subject.recreates, judged.subject.surges) == (False, max_surge > 0)


OWN = "".join(pod(f"template-1-{name}", "node-b", "ReplicaSet/template-1") for name in "ab")

# objects -> workload, replicas, pods and the places of its pods
ROWS: dict[str, tuple[str, list[tuple[str, int | None, int]]]] = {
    "pods of the rollout": (
        REFERRING + TEMPLATE + REPLICA_SET + RUNNING,
        [("Deployment/template", 0, 0), ("Rollout/web", 5, 1)],
    ),
    "pods of both": (
        REFERRING + TEMPLATE + REPLICA_SET + RUNNING + OWN_SET + OWN,
        [("Deployment/template", 0, 2), ("Rollout/web", 5, 1)],
    ),
    "pods of the deployment": (
        REFERRING + TEMPLATE + OWN_SET + OWN,
        [("Deployment/template", 0, 2), ("Rollout/web", 5, 0)],
    ),
    "two rollouts": (
        REFERRING
        + REFERRING.replace("name: web,", "name: other,").replace("replicas: 5", "replicas: 2")
        + TEMPLATE
        + REPLICA_SET
        + RUNNING,
        [("Deployment/template", 0, 0), ("Rollout/other", 2, 0), ("Rollout/web", 5, 1)],
    ),
}


@pytest.mark.parametrize(("text", "rows"), ROWS.values(), ids=ROWS.keys())
def test_pods_are_listed_under_their_controller(
    text: str, rows: list[tuple[str, int | None, int]]
) -> None:
    found = audit(text)

    listed = [(f"{one.kind}/{one.name}", one.replicas, one.pods) for one in found.workloads]
    assert listed == rows
    assert found.summary.pods == sum(pods for _, _, pods in rows)
    assert all(one.kind != "Rollout" or not one.findings for one in found.workloads)


def test_the_spread_of_the_rollout_is_measured() -> None:
    more = pod("web-1-b", "node-a", "ReplicaSet/web-1")
    deployment, rollout = audit(
        REFERRING + TEMPLATE + REPLICA_SET + RUNNING + more + OWN_SET + OWN
    ).workloads

    assert [row.topology_key for row in deployment.spreads] == [
        row.topology_key for row in rollout.spreads
    ]
    assert rollout.api_version == "argoproj.io/v1alpha1"
    assert rollout.line == 2


def test_without_the_deployment_the_pods_belong_to_the_replica_set() -> None:
    found = inventory(gather(REFERRING + REPLICA_SET + RUNNING).snapshot).audited

    assert [str(item.subject) for item in found] == ["ReplicaSet/web-1"]


def test_replicas_of_the_rollout_count_where_no_pod_runs() -> None:
    snapshot = gather(REFERRING + TEMPLATE).snapshot
    (selector,) = (
        constraint.label_selector
        for workload in snapshot.workloads
        for constraint in workload.subject.constraints
    )

    members = inventory(snapshot).state.members
    assert members.count("shop", selector) == {"Deployment/template": 5}


KNOWN = {
    "of no namespace": ([], False),
    "of all namespaces": ([""], True),
    "of its namespace": (["other", "shop"], True),
    "of another namespace": (["other"], False),
}


@pytest.mark.parametrize(("namespaces", "expected"), KNOWN.values(), ids=KNOWN.keys())
def test_a_template_has_no_rollout_where_all_references_are_known(
    namespaces: list[str], *, expected: bool
) -> None:
    snapshot = replace(gather(TEMPLATE).snapshot, reference_namespaces=namespaces)
    referred = replace(gather(TEMPLATE + REFERRING).snapshot, reference_namespaces=namespaces)

    (alone,) = inventory(snapshot).audited
    judged, _ = inventory(referred).audited

    assert alone.subject.is_unreferred is expected
    assert not judged.subject.is_unreferred


@pytest.mark.parametrize("rollout", [REFERRING, ""], ids=["with its Rollout", "without it"])
def test_the_pods_of_the_rollout_carry_its_hash(rollout: str) -> None:
    found = [rule for _, rule in rules(audit(TEMPLATE + rollout))]

    assert found == (["TSC117"] if rollout else [])


def test_the_deployment_is_fixed() -> None:
    outcome = run_fix(TEMPLATE + REFERRING, options("TSC107", "TSC117"))

    assert "matchLabelKeys: [rollouts-pod-template-hash]" in outcome.texts["web.yaml"]
    assert (len(outcome.fixed), outcome.left) == (1, ())


def test_templates_that_no_source_has_are_found() -> None:
    known, unknown = (gather(REFERRING + text).snapshot for text in (TEMPLATE, ""))

    assert list(find_unknown(known)) == []
    ((reference, key),) = find_unknown(unknown)
    assert (reference.name, key.name) == ("web", "template")
    assert [one.name for one in list_templates(known)] == ["template"]
