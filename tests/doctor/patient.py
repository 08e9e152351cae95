"""A healthy installation as a doctor sees it, of the shipped manifests; and ways to harm it."""

import base64
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec
import yaml

from certs.pem import Bundle
from tests.certs.world import NOW, authority
from tests.deploy.manifests import DEPLOY, Json
from webhook.doctor import objects
from webhook.doctor.findings import Result
from webhook.doctor.installation import CONFIGURATIONS, Installation, Replica, Seen, Tried
from webhook.doctor.probes import OWN_CONSTRAINT, Answerer, Probed
from webhook.doctor.rights import needed
from webhook.doctor.table import examine
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
    f"{each['kind']}/{each['metadata']['name']}": each
    for file in sorted((DEPLOY / "kustomize" / "base").glob("*.yaml"))
    if file.name != "kustomization.yaml"
    for each in yaml.safe_load_all(file.read_text())
}

OWN = msgspec.convert(OWN_CONSTRAINT, Constraint)


def merged(value: Any, change: Any) -> Any:
    """A value after a JSON Merge Patch (RFC 7386)."""
    if not isinstance(change, dict):
        return change
    before = value if isinstance(value, dict) else {}
    kept = {key: each for key, each in before.items() if key not in change}
    added = {key: merged(before.get(key), each) for key, each in change.items() if each is not None}
    return {**kept, **added}


def seen(kind: type[T], name: str, change: Json | None = None) -> Seen[T]:
    """An object of the manifests, as an API server gives it."""
    return Seen(msgspec.convert(merged(BASE[name], change or {}), kind))


def registered(hook: Hook, change: Json | None = None) -> Seen[objects.WebhookConfiguration]:
    """A configuration of the manifests with its caBundle; ``change`` is of our webhook."""
    made = BASE[f"{CONFIGURATIONS[hook]}/evenspread"]
    trusting = {"clientConfig": {"caBundle": base64.b64encode(CA.certificate_pem()).decode()}}
    webhook = merged(merged(made["webhooks"][0], trusting), change or {})
    return Seen(msgspec.convert({**made, "webhooks": [webhook]}, objects.WebhookConfiguration))


def hooks(change: Json | None = None, *only: Hook) -> dict[Hook, Any]:
    """Both configurations, changed in the same way, or only one of them."""
    return {hook: registered(hook, change if hook in (only or Hook) else None) for hook in Hook}


def deployment(change: Json | None = None, available: int = 2) -> Seen[objects.Deployment]:
    status = {"status": {"availableReplicas": available}}
    return seen(objects.Deployment, "Deployment/evenspread", merged(status, change or {}))


def pod(name: str, version: str = "0.1.0", *, ready: bool = True, **status: Any) -> objects.Pod:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    labels = {"app.kubernetes.io/version": version}
    made = {
        "metadata": {"name": name, "labels": labels},
        "status": {"phase": "Running", "conditions": [condition], **status},
    }
    return msgspec.convert(made, objects.Pod)


def budget(**status: int) -> Seen[tuple[objects.Budget, ...]]:
    good = {"disruptionsAllowed": 1, "currentHealthy": 2, "expectedPods": 2}
    change = {"status": {**good, **status}}
    return Seen(
        (msgspec.convert(merged(BASE["PodDisruptionBudget/evenspread"], change), objects.Budget),)
    )


def slices(*ready: bool | None) -> Seen[tuple[objects.EndpointSlice, ...]]:
    endpoints = [{"conditions": {"ready": each}} for each in ready]
    return Seen((msgspec.convert({"endpoints": endpoints or None}, objects.EndpointSlice),))


def configuration(text: str = "") -> Seen[objects.ConfigMap]:
    return seen(
        objects.ConfigMap, "ConfigMap/evenspread", {"data": {"config.yaml": text}} if text else {}
    )


def secret(entry: str, pair: Bundle) -> Seen[objects.Secret]:
    return Seen(objects.Secret(data={entry: base64.b64encode(pair.certificate_pem()).decode()}))


def replica(readiness: str = READY, metrics: str = METRICS, name: str = "evenspread-1") -> Replica:
    return Replica(name, Seen(readiness), Seen(metrics))


def answered(*versions: str) -> dict[Hook, Probed]:
    by = tuple(Answerer(each, f"evenspread-{i}") for i, each in enumerate(versions, 1))
    return {hook: Probed(by) for hook in Hook}


def patient(**changes: Any) -> Installation:
    """A healthy installation, but for these members."""
    good: dict[str, Any] = {
        "namespace": "evenspread",
        "name": "evenspread",
        "now": NOW,
        "version": "0.1.0",
        "kubernetes": "v1.36.3",
        "configurations": hooks(),
        "others": Seen(()),
        "service": seen(objects.Service, "Service/evenspread"),
        "slices": slices(True, True),
        "deployment": deployment(),
        "pods": Seen((pod("evenspread-1"), pod("evenspread-2"))),
        "budgets": budget(),
        "configuration": configuration(),
        "authority": secret("ca.crt", CA),
        "serving": Seen(),
        "rights": {right: Seen(True) for right in needed("evenspread", "self")},
        "features": Seen({"NodeInclusionPolicyInPodTopologySpread": True}),
        "replicas": (replica(),),
        "probed": answered("0.1.0", "0.1.0"),
        "tried": Seen((Tried(None, (), ()), Tried(None, (OWN,), (OWN,)))),
        "rivals": Seen(()),
    }
    found = {**good, **changes}
    held = found["deployment"]
    settings = {} if held.lacks or held.value is None else dict(held.value.settings)
    return Installation(**{"settings": settings, **found})


def told(installation: Installation) -> dict[str, Result]:
    """What came of the checks that found anything, or could not look."""
    return {each.id: each for each in examine(installation) if each.findings or each.unseen}


def after(days: float) -> datetime:
    return NOW + timedelta(days=days)
