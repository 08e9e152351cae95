"""Audits in the server beside a real control plane: by one replica, with the least rights."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import AUDIT_PATIENCE_S, until
from tests.deploy.manifests import Helm
from tests.e2e.customkinds import define
from tests.e2e.objects import workload
from tests.e2e.replica import CONFIG, Replica
from tests.e2e.shop import ZONE, Shop
from tests.server.audits import crds
from webhook.__main__ import main
from webhook.telemetry.catalogue import (
    AUDIT_FINDINGS,
    DOMAIN_PODS,
    DOMAINS,
    MAX_SKEW,
    NEEDED_EVICTIONS,
    POD_SKEW,
    SKEW,
    WORKLOAD_PODS,
)

NAME = "evenspread"
GROUP = "openreports.io"
RIGHTS = {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount", "Lease"}

LEASE: Json = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": f"{NAME}-audit", "namespace": NAME},
}

Samples: TypeAlias = dict[tuple[str, tuple[str, ...]], float]
"""Metric, and values of its labels -> value."""

SHOWN = {
    row.name: row.labels
    for row in (
        SKEW,
        POD_SKEW,
        MAX_SKEW,
        DOMAINS,
        WORKLOAD_PODS,
        NEEDED_EVICTIONS,
        DOMAIN_PODS,
        AUDIT_FINDINGS,
    )
}


class Fleet(NamedTuple):
    """Two replicas beside a cluster."""

    plane: ControlPlane
    shop: Shop
    replicas: tuple[Replica, ...]

    def leader(self) -> Replica | None:
        """The one that audits; None if none does."""
        leaders = [replica for replica in self.replicas if replica.process.alive and leads(replica)]
        assert len(leaders) <= 1, "one replica at a time"
        return leaders[0] if leaders else None

    def audited(self) -> Replica:
        """Wait until one has audited once more than before."""
        leader = until(self.leader, "a replica that audits")
        before = leader.metric("audits_total", result="success")
        until(
            lambda: leader.metric("audits_total", result="success") > before + 1,
            "an audit that began after now",
            patience_s=AUDIT_PATIENCE_S,
        )
        assert leader.metric("audits_total", result="failure") == 0
        return leader


@pytest.fixture
def fleet(new_control_plane: NewControlPlane, helm: Helm, tmp_path: Path) -> Iterator[Fleet]:
    plane = new_control_plane(audit=True)
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
    define(plane, crds.needed(GROUP))
    for made in helm.objects({"audit": {"interval": "1s", "policyReports": GROUP}}):
        if made["kind"] in RIGHTS:
            plane.api.create(made)
    shop = Shop(plane)
    account = plane.kubeconfig_of(NAME, NAME)
    settings = {"namespace": NAME, "audit_interval": "1s", "policy_reports": GROUP}
    with ExitStack() as running:
        replicas: list[Replica] = []
        for number in range(2):
            folder = tmp_path / f"replica-{number}"
            folder.mkdir()
            replica = Replica(folder, account, CONFIG, replica=f"replica-{number}", **settings)
            replicas.append(running.enter_context(replica))
        for replica in replicas:
            replica.wait()
        yield Fleet(plane, shop, tuple(replicas))


def leads(replica: Replica) -> bool:
    return replica.metric("audit_leader") == 1


def shown(replica: Replica) -> Samples:
    """The metrics of the last audit."""
    families = text_string_to_metric_families(replica.page("/metrics"))
    return {
        (sample.name, tuple(sample.labels[name] for name in SHOWN[sample.name])): sample.value
        for family in families
        if family.name in SHOWN
        for sample in family.samples
    }


def reported(fleet: Fleet, config: Path, capsys: pytest.CaptureFixture[str]) -> Samples:
    """The same, from the report that the command writes."""
    kubeconfig = str(fleet.plane.apiserver.kubeconfig)
    code = main(["audit", "--kubeconfig", kubeconfig, "--config", str(config), "-o", "json"])
    assert code == 0
    samples: Samples = {}
    findings = Counter[tuple[str, str]]()
    for audited in json.loads(capsys.readouterr().out)["workloads"]:
        findings.update((finding["rule"], finding["weight"]) for finding in audited["findings"])
        for spread in audited["spreads"]:
            title = f"{audited['kind']}/{audited['name']}"
            labels = (audited["namespace"], title, spread["topologyKey"])
            samples["evenspread_pod_skew", labels] = spread["ownSkew"]
            samples["evenspread_domains", labels] = spread["domains"]
            samples["evenspread_workload_pods", labels] = spread["own"]
            for cell in spread["cells"]:
                if cell["nodes"]:
                    samples["evenspread_domain_pods", (*labels, cell["value"])] = cell["pods"]
            if spread["evictions"] is not None:
                samples["evenspread_needed_evictions", labels] = spread["evictions"]
            if spread["maxSkew"] is not None:
                samples["evenspread_skew", labels] = spread["skew"]
                samples["evenspread_max_skew", labels] = spread["maxSkew"]
    return samples | {("evenspread_findings", labels): n for labels, n in findings.items()}


def reports(plane: ControlPlane) -> dict[str, Json]:
    """The reports in the cluster, by namespace."""
    made = plane.api.items("openreports.io/v1alpha1", "Report")
    return {report["metadata"]["namespace"]: report for report in made}


def rules(report: Json) -> set[str]:
    return {result["rule"] for result in report["results"]}


def test_what_the_server_shows_is_what_the_command_finds(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    namespace = fleet.shop.namespace
    skew = ("evenspread_skew", (namespace, "Deployment/web", ZONE))

    leader = fleet.audited()
    even, first = shown(leader), reports(fleet.plane)
    assert even == reported(fleet, leader.config, capsys)
    assert even[skew] == 0
    assert first.keys() == {namespace}
    assert "TSC114" not in rules(first[namespace])

    fleet.audited()
    assert reports(fleet.plane) == first, "nothing has changed, so nothing is written"

    fleet.shop.drain("c")
    fleet.shop.wait(5)
    leader = fleet.audited()
    assert shown(leader) == reported(fleet, leader.config, capsys)
    assert shown(leader)[skew] == 2
    assert "TSC114" in rules(reports(fleet.plane)[namespace])

    codes = answers(fleet.plane)
    assert codes[200] > 0
    assert codes.keys().isdisjoint({401, 403}), "no right is lacking"


def answers(plane: ControlPlane) -> Counter[int]:
    """The statuses that the servers were answered with."""
    return Counter(
        event.get("responseStatus", {}).get("code", 200)
        for event in plane.apiserver.audit_events()
        if event["user"]["username"] == f"system:serviceaccount:{NAME}:{NAME}"
    )


def test_reports_go_with_their_workloads_and_those_of_others_stay(fleet: Fleet) -> None:
    theirs: Json = {
        "apiVersion": "openreports.io/v1alpha1",
        "kind": "Report",
        "metadata": {"name": NAME, "namespace": "default"},
        "summary": {"pass": 7},
    }
    kept = fleet.plane.api.create(theirs)
    fleet.audited()
    assert fleet.shop.namespace in reports(fleet.plane)

    fleet.plane.api.create(workload("Deployment", "web", "default", {"app": "web"}))
    for kind in ("Deployment", "StatefulSet"):
        for made in fleet.plane.api.items("apps/v1", kind, fleet.shop.namespace):
            fleet.plane.api.delete({**made, "apiVersion": "apps/v1", "kind": kind})
    until(
        lambda: fleet.shop.namespace not in reports(fleet.plane),
        "its report to be deleted",
        patience_s=AUDIT_PATIENCE_S,
    )

    assert reports(fleet.plane) == {"default": kept}
    leader = fleet.audited()
    messages = [
        line["message"] for line in leader.lines if line["event"] == "audit" and "message" in line
    ]
    assert messages == [
        "Report default/evenspread: belongs to another client, and is left unchanged"
    ]


def test_one_replica_audits_and_the_other_takes_over(fleet: Fleet) -> None:
    first = fleet.audited()
    (second,) = (replica for replica in fleet.replicas if replica is not first)
    assert shown(second) == {}
    assert second.metric("audits_total") == 0
    assert holder(fleet.plane).startswith(first.settings["replica"])

    first.process.kill()
    fleet.audited()
    assert leads(second)
    assert holder(fleet.plane).startswith(second.settings["replica"])
    assert fleet.plane.api.read(LEASE)["spec"]["leaseTransitions"] == 2

    second.process.terminate()
    assert holder(fleet.plane) == "", "it is released, so that no replica waits"
    assert "bug" not in {line["event"] for line in second.lines}


def holder(plane: ControlPlane) -> str:
    return str(plane.api.read(LEASE)["spec"].get("holderIdentity", ""))
