"""``evenspread audit`` of a real control plane, whose scheduler has bound the pods."""

import json
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.e2e.customkinds import define
from tests.e2e.objects import workload
from tests.e2e.shop import ZONE, Shop
from tests.server.audits import crds
from webhook.__main__ import main
from webhook.audit.renderers import AUDIT_FORMATS

MANY = 520  # pods: more than the 500 of the largest page

OUTPUTS = {
    "policyreport": ("wgpolicyk8s.io", "v1alpha2"),
    "openreports": ("openreports.io", "v1alpha1"),
}

UNEVEN: Json = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "other"}},
}


def audit(kubeconfig: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Run the command; gives what it writes."""
    code = main(["audit", "--kubeconfig", str(kubeconfig), "-o", "json", *options])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return out


def outputs(folder: Path) -> list[str]:
    """Options that write the report in every format to a new folder."""
    folder.mkdir()
    return [word for name in AUDIT_FORMATS for word in ("-o", f"{name}={folder / name}")]


def written(folder: Path) -> dict[str, bytes]:
    """What they wrote, by format."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def rules(report: str, name: str) -> set[str]:
    """The rules that a workload has findings of."""
    return {
        finding["rule"]
        for workload in json.loads(report)["workloads"]
        if workload["name"] == name
        for finding in workload["findings"]
    }


def test_live_again_and_from_a_snapshot_are_the_same_bytes_in_every_format(
    new_control_plane: NewControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plane = new_control_plane()
    shop, kubeconfig = Shop(plane), plane.apiserver.kubeconfig
    saved = tmp_path / "cluster.json.gz"

    live = audit(kubeconfig, capsys, "--save-snapshot", str(saved), *outputs(tmp_path / "live"))
    again = tmp_path / "again.json.gz"
    audit(kubeconfig, capsys, "--save-snapshot", str(again), *outputs(tmp_path / "again"))
    assert main(["audit", "--snapshot", str(saved), *outputs(tmp_path / "offline")]) == 0

    assert written(tmp_path / "live").keys() == set(AUDIT_FORMATS)
    assert written(tmp_path / "live")["json"] == live.encode()
    assert written(tmp_path / "again") == written(tmp_path / "live")
    assert written(tmp_path / "offline") == written(tmp_path / "live")
    assert again.read_bytes() == saved.read_bytes()
    (web,) = (workload for workload in json.loads(live)["workloads"] if workload["name"] == "web")
    assert (web["kind"], web["replicas"], web["pods"]) == ("Deployment", 6, 6)
    assert {cell["value"]: cell["pods"] for cell in web["spreads"][0]["cells"]} == {
        "zone-a": 2,
        "zone-b": 2,
        "zone-c": 2,
    }
    assert "TSC114" not in rules(live, "web")
    assert "TSC110" in rules(live, "db")

    shop.drain("c")
    shop.wait(5)
    assert shop.counts() == Counter({"node-a": 2, "node-b": 2, "": 2})
    assert "TSC114" in rules(audit(kubeconfig, capsys), "web")


def test_lists_of_several_pages_are_read_to_their_end(
    new_control_plane: NewControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    plane = new_control_plane(
        controllers=False, scheduler=False, service_accounts=False, audit=True
    )
    namespace = plane.create_namespace()
    for number in range(MANY):
        plane.api.create(workload("Pod", f"pod-{number:03}", namespace, {"app": "web"}))

    report = json.loads(audit(plane.apiserver.kubeconfig, capsys, "--fail-on", "never"))

    assert report["summary"]["workloads"] == MANY
    assert [workload["name"] for workload in report["workloads"]] == sorted(
        f"pod-{number:03}" for number in range(MANY)
    )
    urls = [urlsplit(event["requestURI"]) for event in plane.apiserver.audit_events()]
    lists = [
        parse_qs(url.query)
        for url in urls
        if url.path == "/api/v1/pods" and "limit" in url.query and "watch" not in url.query
    ]
    assert sum("continue" in query for query in lists) >= 1


def test_a_user_without_the_right_to_list_gets_an_error(
    new_control_plane: NewControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    plane = new_control_plane(scheduler=False)
    namespace = plane.create_namespace()
    give(plane, namespace, [("", ["services", "replicationcontrollers", "pods"])])
    account = plane.kubeconfig_of(namespace, "default")
    plane.api.create(workload("Pod", "lone", namespace, {"app": "web"}))

    code = main(["audit", "--kubeconfig", str(account), "-n", namespace])

    out, err = capsys.readouterr()
    assert code == 3
    assert "1 workload, 1 pod" in out
    lines = err.splitlines()
    assert all("answered 403: " in line for line in lines)
    assert {
        word for line in lines for word in ("nodes", "deployments", "jobs") if word in line
    } == {
        "nodes",
        "deployments",
        "jobs",
    }
    assert not [line for line in lines if '"pods"' in line]


def give(plane: ControlPlane, namespace: str, rights: list[tuple[str, list[str]]]) -> None:
    """Let the ServiceAccount ``default`` list some resources of its namespace."""
    head = {"metadata": {"name": "lister", "namespace": namespace}}
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": ["list"]}
        for group, resources in rights
    ]
    version = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    plane.api.create({**version, "kind": "Role", **head, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lister"}
    plane.api.create(
        {**version, "kind": "RoleBinding", **head, "roleRef": role, "subjects": [subject]}
    )


@pytest.mark.parametrize(("output", "api"), OUTPUTS.items(), ids=OUTPUTS)
def test_reports_are_taken_by_an_api_server_that_knows_their_kind(
    new_control_plane: NewControlPlane,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    output: str,
    api: tuple[str, str],
) -> None:
    group, version = api
    definition = crds.needed(group)
    plane = new_control_plane(scheduler=False)
    define(plane, definition, version)
    namespace = plane.create_namespace()
    refused = workload("Pod", "refused", namespace, {"app": "web"})
    refused["spec"]["topologySpreadConstraints"] = [{**UNEVEN, "maxSkew": 0}]
    exempt = workload("Pod", "exempt", namespace, {"app": "web"})
    exempt["metadata"]["annotations"] = {"evenspread.io/exempt": "TSC101=by contract"}
    exempt["spec"]["topologySpreadConstraints"] = [UNEVEN]
    warned = workload("Pod", "warned", namespace, {"app": "web"})
    warned["spec"]["topologySpreadConstraints"] = [UNEVEN]
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump_all([refused, exempt, warned]))

    main(["audit", "-f", str(tmp_path / "pods.yaml"), "-o", output])
    text = capsys.readouterr().out
    strict = ("create", "--validate=strict", "-f", "-")
    plane.kubectl(*strict, "--dry-run=server", stdin=text)
    plane.kubectl(*strict, stdin=text)

    (written,) = yaml.safe_load_all(text)
    stored = plane.api.read(written)
    members = ("scope", "summary", "results", "source")
    assert [stored.get(name) for name in members] == [written.get(name) for name in members]
    assert {result["result"] for result in stored["results"]} == {"fail", "skip", "warn"}

    written["results"][0]["severity"] = "grave"
    with pytest.raises(Exception, match="severity"):
        plane.kubectl(*strict, "--dry-run=server", stdin=yaml.safe_dump(written))
