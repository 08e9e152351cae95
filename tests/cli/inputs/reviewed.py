"""Objects to review, and a policy with one hard default."""

from typing import Any

from tests.cli.inputs.manifestclusters import cluster_of_text
from tests.policy.placement.clusters import gates
from webhook.cli.inputs.subjects import ExplainSubject, decode_template
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.policy.facts import Facts
from webhook.policy.kinds import POD
from webhook.policy.model import Constraint, GroupKind

DEFAULT = Constraint(max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule")
POLICY = Policy(gates=gates(), profiles=(Profile(name="all", constraints=(DEFAULT,)),))
OWN: dict[str, Any] = {
    "maxSkew": 1, "topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "web"}}
}  # fmt: skip
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}


def pod(*constraints: Any, **metadata: Any) -> dict[str, Any]:
    known = {"name": "web", "labels": {"app": "web"}, "ownerReferences": [OWNER], **metadata}
    spec = {"containers": [{"name": "c"}], "topologySpreadConstraints": list(constraints)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": known, "spec": spec}


def deployment(*constraints: Any) -> dict[str, Any]:
    spec = {"replicas": 2, "template": pod(*constraints)}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec
    }  # fmt: skip


def subject_of(value: dict[str, Any], kind: GroupKind = POD, **changes: Any) -> ExplainSubject:
    path = () if kind == POD else ("spec", "template")
    return ExplainSubject(kind, path, "shop", value, **{"exists": False, **changes})


def facts() -> Facts:
    """The facts of a cluster with a Service that selects the pods."""
    service = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: %s}"
    text = service % "{selector: {app: web}}"
    return cluster_of_text(text).facts("shop")


def decode(value: dict[str, Any]) -> ApiPod:
    return decode_template(subject_of(value))
