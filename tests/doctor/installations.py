"""A healthy installation of the shipped manifests, and changes to it."""

import base64
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec
import yaml

from certs.pem import CertificatePair
from tests.certs.world import NOW, authority
from tests.deploy.manifests import DEPLOY, Json
from webhook.cluster.spreadpolicies import SpreadPolicyObject, decode_policy
from webhook.doctor import objects, workload
from webhook.doctor.findings import CheckResult, CheckState
from webhook.doctor.installation import (
    CONFIGURATION_KINDS,
    DryRunPod,
    Installation,
    Lookup,
    Replica,
)
from webhook.doctor.probes import OWN_CONSTRAINT, ProbeNamespace, ProbeResult, ReplicaIdentity
from webhook.doctor.rights import list_needed_rights
from webhook.doctor.table import run_checks
from webhook.policy.model import Constraint
from webhook.policy.request import Hook

T = TypeVar("T")

CA = authority()
READY = "[+]configuration ok\n[+]certificate ok\n[+]server ok: serving\nok\n"
UNREADY = READY.replace("[+]certificate ok", "[-]certificate failed: old")
METRICS = """\
# HELP evenspread_config_valid 1 if the configuration in force is what the files say.
evenspread_config_valid 1.0
evenspread_ca_bundle_in_sync 1.0
evenspread_cache_age_seconds{kind="Node"} 12.5
evenspread_build_info{version="0.1.0",kubernetes="1.36"} 1.0
"""

BASE = {
    f"{obj['kind']}/{obj['metadata']['name']}": obj
    for file in sorted((DEPLOY / "kustomize" / "base").glob("*.yaml"))
    if file.name != "kustomization.yaml"
    for obj in yaml.safe_load_all(file.read_text())
}

OWN = msgspec.convert(OWN_CONSTRAINT, Constraint)


def merge(value: Any, change: Any) -> Any:
    """Apply a JSON Merge Patch (RFC 7386)."""
    if not isinstance(change, dict):
        return change
    before = value if isinstance(value, dict) else {}
    kept = {key: inner for key, inner in before.items() if key not in change}
    items = change.items()
    added = {key: merge(before.get(key), inner) for key, inner in items if inner is not None}
    return {**kept, **added}


_KEEPING = yaml.safe_load((DEPLOY / "kustomize" / "keep-spread" / "kustomization.yaml").read_text())
BINDING: Json = yaml.safe_load(_KEEPING["patches"][0]["patch"])[0]["value"]
"""The webhook for Bindings, as its component adds it."""


def decode_manifest(kind: type[T], name: str, change: Json | None = None) -> Lookup[T]:
    """Decode an object of the manifests with a change."""
    return Lookup(msgspec.convert(merge(BASE[name], change or {}), kind))


def registered(hook: Hook, change: Json | None = None) -> Lookup[objects.WebhookConfiguration]:
    """A configuration of the manifests with its caBundle; ``change`` is of our webhook."""
    made = BASE[f"{CONFIGURATION_KINDS[hook]}/evenspread"]
    trusting = {"clientConfig": {"caBundle": base64.b64encode(CA.certificate_pem()).decode()}}
    webhook = merge(merge(made["webhooks"][0], trusting), change or {})
    return Lookup(msgspec.convert({**made, "webhooks": [webhook]}, objects.WebhookConfiguration))


def hooks(change: Json | None = None, *only: Hook) -> dict[Hook, Any]:
    """Both configurations, changed in the same way, or only one of them."""
    return {hook: registered(hook, change if hook in (only or Hook) else None) for hook in Hook}


def deployment(change: Json | None = None, available: int = 2) -> Lookup[workload.Deployment]:
    status = {"status": {"availableReplicas": available}}
    changed = merge(status, change or {})
    return decode_manifest(workload.Deployment, "Deployment/evenspread", changed)


def serving_with(*flags: str) -> Json:
    """A Deployment whose server has these flags alone."""
    return {"spec": {"template": {"spec": {"containers": [{"args": ["serve", *flags]}]}}}}


def pod(
    name: str, version: str = "0.1.0", *, ready: bool = True, **status: Any
) -> workload.ServerPod:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    labels = {"app.kubernetes.io/version": version}
    made = {
        "metadata": {"name": name, "labels": labels},
        "status": {"phase": "Running", "conditions": [condition], **status},
    }
    return msgspec.convert(made, workload.ServerPod)


def budget(**status: int) -> Lookup[tuple[workload.DisruptionBudget, ...]]:
    good = {"disruptionsAllowed": 1, "currentHealthy": 2, "expectedPods": 2}
    change = {"status": {**good, **status}}
    return Lookup(
        (
            msgspec.convert(
                merge(BASE["PodDisruptionBudget/evenspread"], change), workload.DisruptionBudget
            ),
        )
    )


def slices(*ready: bool | None) -> Lookup[tuple[workload.EndpointSlice, ...]]:
    endpoints = [{"conditions": {"ready": state}} for state in ready]
    return Lookup((msgspec.convert({"endpoints": endpoints or None}, workload.EndpointSlice),))


def configuration(text: str = "") -> Lookup[objects.ConfigMap]:
    return decode_manifest(
        objects.ConfigMap, "ConfigMap/evenspread", {"data": {"config.yaml": text}} if text else {}
    )


def secret(entry: str, pair: CertificatePair) -> Lookup[objects.Secret]:
    return Lookup(objects.Secret(data={entry: base64.b64encode(pair.certificate_pem()).decode()}))


def replica(readiness: str = READY, metrics: str = METRICS, name: str = "evenspread-1") -> Replica:
    return Replica(name, Lookup(readiness), Lookup(metrics))


def answered(*versions: str) -> dict[Hook, ProbeResult]:
    by = tuple(ReplicaIdentity(version, f"evenspread-{i}") for i, version in enumerate(versions, 1))
    return {hook: ProbeResult(by) for hook in Hook}


def build_installation(**changes: Any) -> Installation:
    """Build a healthy installation, with these members changed."""
    good: dict[str, Any] = {
        "namespace": "evenspread",
        "name": "evenspread",
        "now": NOW,
        "version": "0.1.0",
        "kubernetes": "v1.36.3",
        "configurations": hooks(),
        "mutating": Lookup(()),
        "service": decode_manifest(workload.ServerService, "Service/evenspread"),
        "slices": slices(True, True),
        "deployment": deployment(),
        "pods": Lookup((pod("evenspread-1"), pod("evenspread-2"))),
        "budgets": budget(),
        "configuration": configuration(),
        "policies": Lookup(()),
        "authority": secret("ca.crt", CA),
        "serving": Lookup(),
        "rights": {right: Lookup(True) for right in list_needed_rights("evenspread", "self")},
        "features": Lookup({"NodeInclusionPolicyInPodTopologySpread": True}),
        "replicas": (replica(),),
        "probe_namespace": ProbeNamespace("default", {}),
        "probes": answered("0.1.0", "0.1.0"),
        "dry_run_pods": Lookup((DryRunPod(None, (), ()), DryRunPod(None, (OWN,), (OWN,)))),
        "conflicts": Lookup(()),
    }
    return Installation(**{**good, **changes})


def find_deviations(installation: Installation) -> dict[str, CheckResult]:
    """Run the checks; return the results with findings or unreadable objects, by id."""
    results = run_checks(installation)
    return {result.id: result for result in results if result.findings or result.unreadable}


def after(days: float) -> datetime:
    return NOW + timedelta(days=days)


def assert_reported(changes: dict[str, Any], expected: dict[str, str], *, is_note: bool) -> None:
    """Assert that only these checks report the changed members, with these messages."""
    found = find_deviations(build_installation(**changes))

    assert found.keys() == expected.keys()
    for name, words in expected.items():
        text = "\n".join(f"{item.message}\n{item.advice}" for item in found[name].findings)
        assert words in text
    state = CheckState.NOTE if is_note else CheckState.PROBLEM
    assert {result.state for result in found.values()} == {state}


def build_policy(name: str, **spec: Any) -> SpreadPolicyObject:
    """Build a SpreadPolicy without default constraints."""
    made = {
        "apiVersion": "evenspread.io/v1alpha1",
        "kind": "SpreadPolicy",
        "metadata": {"name": name},
        "spec": {"defaultConstraints": [], **spec},
    }
    return decode_policy(msgspec.json.encode(made))
