"""Chart and kustomize make the same objects, and every Kubernetes version takes them."""

import os
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]  # has no types
import pytest
import yaml

from tests.deploy.fixtures import Kustomize
from tests.deploy.manifests import DEPLOY, MONITORING, REPAIRING, Helm, Json, by_name, made

VALIDATED = """
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [{base}]
components: [{component}]
"""

OVERLAYS: dict[str, dict[str, Any]] = {
    "kustomize/overlays/dry-run": {"config": {"mode": "recommend"}},
    "kustomize/overlays/enforce": {
        "failurePolicy": {"validating": "Fail"},
        "installHook": {"enabled": False},
    },
}

RELEASES = [f"1.{minor}" for minor in range(28, 38, 3)]
"""The oldest that the chart takes, the newest, and some between them; each takes 0.1 s."""

EVERYTHING: dict[str, Any] = {
    "image": {
        "digest": f"sha256:{'0' * 64}",
        "pullPolicy": "Always",
        "pullSecrets": [{"name": "registry"}],
    },
    "exemptNamespaces": ["gatekeeper-system"],
    "podTemplates": [
        {"group": "example.com", "kind": "Fleet", "resource": "fleets", "path": "spec.template"}
    ],
    "ownerSelectors": [
        {
            "group": "example.com",
            "kind": "Fleet",
            "resource": "fleets",
            "selectorPath": "spec.selector",
        }
    ],
    "scope": "optIn",
    "skipInSelector": True,
    "failurePolicy": {"mutating": "Fail", "validating": "Fail"},
    "installHook": {"enabled": False, "wait": "90s", "probeNamespace": "probes"},
    "webhookAnnotations": {"cert-manager.io/inject-ca-from": "evenspread/serving"},
    "certificate": {
        "mode": "files",
        "secretName": "serving",
        "clientCA": {"configMapName": "callers"},
        "clientNames": ["kube-apiserver"],
    },
    "ports": {"admission": 9443, "health": 9090},
    "hostNetwork": True,
    "criticalQuota": True,
    "nodeSelector": {"pool": "system"},
    "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
            ]
        }
    },
    "podAnnotations": {"example.com/team": "platform"},
    "podLabels": {"example.com/team": "platform"},
    "podSecurityContext": {"runAsUser": None, "runAsGroup": None},
    "extraArgs": ["--log-level=debug"],
    "extraEnv": [{"name": "EVENSPREAD_LOG_FORMAT", "value": "console"}],
    "extraVolumes": [{"name": "spare", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "spare", "mountPath": "/spare"}],
    "serviceAccount": {"annotations": {"example.com/role": "reader"}},
    "networkPolicy": {
        "admissionFrom": [{"ipBlock": {"cidr": "10.0.0.0/28"}}],
        "healthFrom": [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}],
        "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/28"}}], "ports": [{"port": 6443}]}],
    },
    **MONITORING,
}
"""A value other than the default for nearly everything that can be set."""

MATRIX: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "everything at once": EVERYTHING,
    "no priority, no policy, no spread": {
        "priorityClassName": "",
        "networkPolicy": {"enabled": False},
        "topologySpreadConstraints": [],
        "podDisruptionBudget": {"maxUnavailable": "50%"},
    },
    "corrections of ranks": REPAIRING,
    "profiles of its own": {
        "schedulerConfiguration": "",
        "config": {"profiles": [{"name": "none", "defaultConstraints": []}]},
    },
}


def test_the_made_files_are_what_the_chart_makes(helm: Helm) -> None:
    stale = [str(path) for path, text in made(helm).items() if path.read_text() != text]

    assert stale == [], "run `make manifests`"


def test_the_base_is_the_chart_with_its_defaults(helm: Helm, kustomize: Kustomize) -> None:
    assert by_name(kustomize("kustomize/base")) == by_name(helm.objects({}))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_the_chart_with_a_few_values_and_a_namespace(
    helm: Helm, kustomize: Kustomize, overlay: str
) -> None:
    found = by_name(kustomize(overlay))

    namespace = found.pop("Namespace/evenspread")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert found == by_name(helm.objects(OVERLAYS[overlay]))


def test_the_component_registers_pods_as_the_chart_does_where_a_rule_denies(
    helm: Helm, kustomize: Kustomize, tmp_path: Path
) -> None:
    folders = (DEPLOY / "kustomize" / name for name in ("base", "validate-pods"))
    base, component = (os.path.relpath(folder, tmp_path) for folder in folders)
    (tmp_path / "kustomization.yaml").write_text(VALIDATED.format(base=base, component=component))

    configuration = "ValidatingWebhookConfiguration/evenspread"
    denying = by_name(helm.objects({"config": {"rules": {"TSC101": "deny"}}}))
    assert by_name(kustomize(str(tmp_path)))[configuration] == denying[configuration]


def test_the_component_ranks_pods_as_the_chart_does_where_a_profile_keeps_the_spread(
    helm: Helm, kustomize: Kustomize, tmp_path: Path
) -> None:
    folders = (DEPLOY / "kustomize" / name for name in ("base", "keep-spread"))
    base, component = (os.path.relpath(folder, tmp_path) for folder in folders)
    (tmp_path / "kustomization.yaml").write_text(VALIDATED.format(base=base, component=component))
    profiles = [{"name": "a", "scaleDown": "KeepSpread"}]

    found = by_name(kustomize(str(tmp_path)))
    keeping = by_name(helm.objects({"config": {"profiles": profiles}}))
    for name in ("MutatingWebhookConfiguration/evenspread", "ClusterRole/evenspread"):
        member = "webhooks" if "webhooks" in keeping[name] else "rules"
        assert all(entry in found[name][member] for entry in keeping[name][member])


def test_the_components_repair_ranks_as_the_chart_does(
    helm: Helm, kustomize: Kustomize, tmp_path: Path
) -> None:
    names = ("base", "keep-spread", "scale-down-repair")
    base, *components = (os.path.relpath(DEPLOY / "kustomize" / name, tmp_path) for name in names)
    overlay = {"resources": [base], "components": components}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))

    found, chart = by_name(kustomize(str(tmp_path))), by_name(helm.objects(REPAIRING))

    assert found.keys() == chart.keys()
    added = chart.keys() - by_name(helm.objects({})).keys()
    assert len(added) == 2
    assert {name: found[name] for name in added} == {name: chart[name] for name in added}


def test_monitoring_is_the_chart_with_monitoring(helm: Helm, kustomize: Kustomize) -> None:
    chart = by_name(helm.objects(MONITORING))

    assert by_name(kustomize("monitoring")) == {
        name: chart[name] for name in chart.keys() - by_name(helm.objects({})).keys()
    }


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
def test_every_release_knows_every_field(helm: Helm, values: dict[str, Any]) -> None:
    objects = [obj for obj in helm.objects(values) if known(obj)]

    for release in RELEASES:
        for obj in objects:
            kubernetes_validate.validate(obj, release, strict=True)


def known(obj: Json) -> bool:
    """Whether Kubernetes itself has that kind."""
    return not obj["apiVersion"].startswith("monitoring.coreos.com/")
