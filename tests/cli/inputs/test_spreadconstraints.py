"""A pod without constraints has the defaults of its scheduler, if any."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.inputs.manifestclusters import cluster_of
from webhook.cli.inputs.policy import read_policy
from webhook.cli.inputs.spreadconstraints import ConstraintResolver
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.policy import render
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION, Provenance, digest
from webhook.policy.model import Constraint

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}},
}
CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: PodTopologySpreadArgs
defaultingType: %s
"""
LIST = (
    CONFIG % "List"
    + """\
defaultConstraints:
- {maxSkew: 9, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
"""
)
OWN = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}

# configuration of the scheduler, gates, the pod's specification, maxSkew of what is in force
CASES: dict[str, tuple[str, str, dict[str, Any], list[int]]] = {
    "the System defaults": ("", "", {}, [3, 5]),
    "without their gate": ("", "DefaultPodTopologySpread=false", {}, []),
    "another scheduler": ("", "", {"schedulerName": "other"}, []),
    "a configuration": (LIST, "", {}, [9]),
    "a configuration with the System defaults": (CONFIG % "System", "", {}, [3, 5]),
    "constraints of the pod": (LIST, "", {"topologySpreadConstraints": [OWN]}, [2]),
}


@pytest.mark.parametrize(("config", "gates", "spec", "skews"), CASES.values(), ids=CASES.keys())
def test_a_pod_has_its_own_constraints_or_the_defaults(
    config: str, gates: str, spec: dict[str, Any], skews: list[int], folder: Path
) -> None:
    (folder / "scheduler.yaml").write_text(config)
    requested = read_policy(
        kube_version="",
        allow_locked_gates=True,
        feature_gates=gates,
        config="",
        scheduler_config="scheduler.yaml" if config else "",
    )
    metadata = {"name": "web-1", "namespace": "shop", "labels": {"app": "web"}}
    pod = msgspec.convert({"metadata": metadata, "spec": spec}, ApiPod)
    resolver = ConstraintResolver(requested.policy, replaces=bool(config))

    found = resolver.resolve(pod, "shop", cluster_of(SERVICE).facts("shop"))

    assert [spread.max_skew for spread in found.by_index] == skews


def test_constraints_that_a_profile_added_are_known() -> None:
    text = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}
    added = msgspec.json.decode(msgspec.json.encode(text), type=Constraint)
    written = Provenance("p", (), ("rack",), digest(render.encode(render.constraint(added))))
    annotations = {DEFAULTS_ANNOTATION: render.encode(written).decode()}
    pod = msgspec.convert(
        {
            "metadata": {"labels": {"app": "web"}, "annotations": annotations},
            "spec": {"topologySpreadConstraints": [OWN, text]},
        },
        ApiPod,
    )
    requested = read_policy(kube_version="", allow_locked_gates=True, feature_gates="", config="")

    found = ConstraintResolver(requested.policy, replaces=False).resolve(
        pod, "shop", cluster_of(SERVICE).facts("shop")
    )

    assert found.added == {1}


def test_without_a_profile_for_the_pod_nothing_replaces_the_defaults_of_a_scheduler() -> None:
    requested = read_policy(kube_version="", allow_locked_gates=True, feature_gates="", config="")
    pod = msgspec.convert({"metadata": {"labels": {"app": "web"}}, "spec": {}}, ApiPod)

    found = ConstraintResolver(requested.policy, replaces=True).resolve(
        pod, "shop", cluster_of(SERVICE).facts("shop")
    )

    assert found.by_index == []
