"""The sweep over published manifests, on manifests of our own: it needs no network."""

from pathlib import Path

import pytest

from tests.audit.publiccharts import audits, charts
from tests.audit.publiccharts.verdicts import PLANTED, Causes, Comparison, Verdict, agree, compare
from tests.audit.world import DEPLOYMENT, NODES
from tests.controlplane.plane import ControlPlane

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, image: nginx}]}
"""

REFUSED = 9  # of the planted lists: TSC001 to TSC009; other rules warn, or are bounds of our own

SKEW: Causes = frozenset({("FieldValueInvalid", "spec.topologySpreadConstraints[0]", "no")})
NONE: Causes = frozenset()

AGREEMENTS = {
    "both accept": (Verdict(201, NONE), Verdict(201, NONE), True),
    "both refuse for the same": (Verdict(422, SKEW), Verdict(422, SKEW), True),
    "both refuse what cannot be decoded": (
        Verdict(400, NONE, undecodable=True), Verdict(400, NONE, undecodable=True), True
    ),
    "something else is wrong": (Verdict(422, NONE), Verdict(201, NONE), True),
    "it never came to the constraints": (Verdict(403, NONE), Verdict(422, SKEW), True),
    "another part cannot be decoded": (Verdict(400, NONE), Verdict(201, NONE), True),
    "only the API server refuses": (Verdict(422, SKEW), Verdict(201, NONE), False),
    "only validate refuses": (Verdict(201, NONE), Verdict(422, SKEW), False),
    "validate misses what cannot be decoded": (
        Verdict(400, NONE, undecodable=True), Verdict(201, NONE), False
    ),
    "validate cannot decode what is accepted": (
        Verdict(201, NONE), Verdict(400, NONE, undecodable=True), False
    ),
}  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours", "alike"), AGREEMENTS.values(), ids=AGREEMENTS.keys())
def test_what_is_a_difference(theirs: Verdict, ours: Verdict, alike: bool) -> None:
    seen = Comparison()

    seen.add("web.yaml:1", theirs, ours)

    assert agree(theirs, ours) is alike
    assert bool(seen.differences) is not alike


def test_validate_reports_for_every_planted_list_what_the_api_server_reports(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    version = control_plane.api.call("GET", "/version")
    served = POD.replace("name: web}\nspec", "name: web, namespace: shop}\nspec")
    (tmp_path / "pods.yaml").write_text("---\n".join([served] * len(PLANTED)))
    (tmp_path / "old.yaml").write_text(POD.replace("v1", "v1beta1", 1))
    seen = Comparison()

    compare(
        tmp_path,
        control_plane.api,
        f"{version['major']}.{version['minor']}",
        seen,
        namespace=control_plane.create_namespace(),
    )

    assert seen.differences == []
    assert seen.counts["refused for constraints"] == REFUSED
    assert seen.counts["accepted"] == 2 * len(PLANTED) - REFUSED
    assert seen.counts["not validated"] == 2


def test_manifests_are_collected_without_what_is_none(tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "folder"
    for name in ("examples/pod.yaml", "testdata/pod.yaml", "vendor/other/pod.yml"):
        (source / name).parent.mkdir(parents=True)
        (source / name).write_text(POD)
    (source / "values.yaml").write_text("replicas: 3\n")

    charts.collect(source, folder, tmp_path / "no-helm")

    assert charts.parts(folder) == [folder / "plain"]
    assert [path.name for path in folder.rglob("*.yaml")] == ["pod.yaml"]


def test_findings_are_counted_by_rule(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(
        DEPLOYMENT.replace("matchLabelKeys: [pod-template-hash]", "")
    )
    (tmp_path / "broken.yaml").write_text("kind: {")
    (tmp_path / "nodes.yaml").write_text(NODES)

    outcome = audits.audit(tmp_path)

    assert (outcome.workloads, outcome.unread, outcome.rules) == (1, 1, {"TSC107": 1})
    assert str(audits.total([outcome, outcome])) == "2 workloads, TSC107 2"
