"""Constraints that no rule judges, in the objects of manifests."""

from pathlib import Path

import pytest

from webhook.cli.inputs.manifests import InputFiles, Inputs
from webhook.policy.kinds import KNOWN_TEMPLATES, POD
from webhook.policy.model import GroupKind
from webhook.policy.places import TemplatePatterns, TemplatePlaces

CLUSTER = """\
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: pg}
spec:
  topologySpreadConstraints:
  - {topologyKey: zone}
"""


MISSPELLED = """\
apiVersion: app/v1
kind: Deployment
metadata: {name: old}
spec: {template: {spec: {topologySpreadConstraints: [{maxSkew: 0}]}}}
"""


@pytest.mark.parametrize("text", [CLUSTER, MISSPELLED])
@pytest.mark.parametrize("strict", [False, True])
def test_a_kind_with_constraints_that_are_not_judged_is_reported_once(
    text: str, strict: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text(f"{text}---\n{text}")

    for judged, reported in ((None, 0), ({POD: ()}, 1)):
        for kind in (Inputs, InputFiles):
            inputs = kind([str(tmp_path)], strict=strict, judged=judged)
            assert len(list(inputs.objects())) == 2
            inputs.report()
            assert len(inputs.problems) == (reported if strict else 0)
            expected = "error: " if strict else "note: "
            assert capsys.readouterr().err.count(expected) == reported


MISPLACED = """\
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
Spec: {template: {spec: {topologySpreadConstraints: [{maxSkew: 0}]}}}
"""


@pytest.mark.parametrize("strict", [False, True])
def test_a_list_at_no_known_place_is_reported_for_each_object(
    strict: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text(f"{MISPLACED}---\n{MISPLACED}")

    for judged, reported in ((None, 0), (KNOWN_TEMPLATES, 2)):
        for kind in (Inputs, InputFiles):
            inputs = kind([str(tmp_path)], strict=strict, judged=judged)
            assert kind is InputFiles or len(list(inputs.objects())) == 2
            inputs.report()
            assert len(inputs.problems) == (reported if strict else 0)
            expected = f"{'error' if strict else 'note'}: {tmp_path}/a.yaml:"
            err = capsys.readouterr().err
            assert err.count(expected) == reported
            assert err.count("did you mean spec.template.spec.topology") == reported


KAFKA = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: Kafka
metadata: {name: events}
spec:
  kafka: {pod: {topologySpreadConstraints: [{maxSkew: 0}]}}
  pools:
  - pod: {topologySpreadConstraints: [{maxSkew: 1}]}
  - pod: {topologySpreadConstraints: [{maxSkew: 2}]}
"""
OTHER = KAFKA.replace("  kafka:", "  entityOperator:")

KAFKA_KIND = GroupKind("kafka.strimzi.io", "Kafka")
IN_POD = ("pod", "topologySpreadConstraints")
IN_KAFKA, IN_POOLS = ("spec", "kafka", *IN_POD), ("spec", "pools", "*", *IN_POD)

# where the kind is judged, the lines with lists that are reported: one of each place
JUDGED: dict[str, tuple[TemplatePlaces | None, list[int]]] = {
    "nowhere": (None, [5, 7, 14]),
    "in one list": (IN_KAFKA, [7, 14]),
    "in the lists of lists": (TemplatePatterns((IN_POOLS,)), [5, 14]),
    "in all lists of the first object": (TemplatePatterns((IN_KAFKA, IN_POOLS)), [14]),
}


@pytest.mark.parametrize(("places", "lines"), JUDGED.values(), ids=JUDGED.keys())
def test_each_list_without_a_path_is_reported(
    places: TemplatePlaces | None, lines: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"{KAFKA}---\n{OTHER}")
    judged = {POD: ()} | ({KAFKA_KIND: places} if places else {})

    for kind in (Inputs, InputFiles):
        inputs = kind([str(path)], strict=True, judged=judged)
        assert kind is InputFiles or len(list(inputs.objects())) == 2
        assert [str(problem).partition(": ")[0] for problem in inputs.problems] == [
            f"{path}:{line}" for line in lines
        ]
