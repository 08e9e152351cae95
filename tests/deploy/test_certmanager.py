"""A certificate of cert-manager: chart and kustomize agree, and the server finds it."""

from typing import Any

import pytest

from certs.issue import service_hosts
from tests.deploy.fixtures import Kustomize
from tests.deploy.manifests import Helm, Json, by_name
from webhook.config.settings import Settings, read_settings

OVERLAY = "kustomize/overlays/cert-manager"
NAME = NAMESPACE = "evenspread"
INJECT = "cert-manager.io/inject-ca-from"

VALUES: dict[str, Any] = {
    "certificate": {"mode": "files", "secretName": "evenspread-tls"},
    "webhookAnnotations": {INJECT: f"{NAMESPACE}/{NAME}"},
}

Objects = dict[str, Json]


@pytest.fixture(scope="module")
def made(kustomize: Kustomize) -> Objects:
    return by_name(kustomize(OVERLAY))


def test_the_overlay_is_the_chart_with_a_namespace_and_certificates(
    helm: Helm, made: Objects
) -> None:
    certificates = {
        name
        for name, obj in made.items()
        if obj["apiVersion"] == "cert-manager.io/v1" or obj["kind"] == "Namespace"
    }

    assert {name.split("/")[0] for name in certificates} == {"Certificate", "Issuer", "Namespace"}
    rest = {name: obj for name, obj in made.items() if name not in certificates}
    assert rest == by_name(helm.objects(VALUES))


def test_the_server_looks_where_the_secret_of_the_certificate_is_mounted(made: Objects) -> None:
    pod = made[f"Deployment/{NAME}"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    settings = settings_of(container["args"])
    (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "certificate"]
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "certificate"]

    assert settings.certificate == "files"
    assert mount["mountPath"] == settings.tls_dir
    assert "subPath" not in mount  # it would never change
    assert volume["secret"]["secretName"] == certificate(made)["secretName"]


def test_the_certificate_is_for_the_service_that_the_webhooks_name(made: Objects) -> None:
    (service,) = {
        (
            webhook["clientConfig"]["service"]["name"],
            webhook["clientConfig"]["service"]["namespace"],
        )
        for hook in hooks(made)
        for webhook in hook["webhooks"]
    }

    assert tuple(certificate(made)["dnsNames"]) == service_hosts(*service)
    assert set(certificate(made)["usages"]) == {"digital signature", "server auth"}


def test_the_bundle_is_injected_and_has_no_other_writer(made: Objects) -> None:
    for hook in hooks(made):
        assert hook["metadata"]["annotations"] == {INJECT: f"{NAMESPACE}/{NAME}"}
        assert all("caBundle" not in webhook["clientConfig"] for webhook in hook["webhooks"])
    rules = [
        *made[f"ClusterRole/{NAME}"]["rules"],
        *made[f"Role/{NAME}"]["rules"],
    ]
    assert [rule for rule in rules if "secrets" in rule["resources"]] == []
    patched = [rule["resources"] for rule in rules if "patch" in rule["verbs"]]
    assert patched == [["spreadpolicies/status"]]


def test_a_renewed_authority_keeps_its_key(made: Objects) -> None:
    """Else the bundle would change at once, and the API server learn of it later."""
    root = made["Certificate/evenspread-root"]["spec"]
    signer = made[f"Issuer/{NAME}"]["spec"]["ca"]["secretName"]

    assert certificate(made)["issuerRef"]["name"] == NAME
    assert (root["secretName"], root["isCA"]) == (signer, True)
    assert root["privateKey"]["rotationPolicy"] == "Never"


def settings_of(arguments: list[str]) -> Settings:
    """Read the flags as ``serve`` would."""
    command, *flags = arguments
    assert command == "serve"
    pairs = (flag.removeprefix("--").split("=", 1) for flag in flags)
    return read_settings({name.replace("-", "_"): value for name, value in pairs})


def certificate(made: Objects) -> Json:
    spec: Json = made[f"Certificate/{NAME}"]["spec"]
    return spec


def hooks(made: Objects) -> list[Json]:
    return [made[f"{prefix}WebhookConfiguration/{NAME}"] for prefix in ("Mutating", "Validating")]
