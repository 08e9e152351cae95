"""mTLS with a real API server, whose AdmissionConfiguration names a certificate for webhooks."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from certs.pem import CertificatePair
from tests.certs.world import authority, client_pair, write_pair
from tests.controlplane.api import ApiError, Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.replica import CONFIG, MARK, Registered, Replica, by_url

CALLERS, STRANGER = authority(), authority()
NAME = "kube-apiserver"
HOOKS = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "it", "labels": {"app": "it"}},
    "spec": {"containers": [{"name": "it", "image": "it"}]},
}


def showing(folder: Path, pair: CertificatePair) -> dict[str, Json]:
    """Write the files of the pair, and build the options that present it to every webhook."""
    folder.mkdir()
    write_pair(folder, pair)
    user = {"client-certificate": str(folder / "tls.crt"), "client-key": str(folder / "tls.key")}
    file = folder / "kubeconfig.json"
    users = [{"name": "*", "user": user}]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": users}))
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(file),
    }
    return dict.fromkeys(HOOKS, configuration)


def create(plane: ControlPlane) -> None:
    """Create the pod in a new namespace that the webhooks are called for."""
    namespace = plane.create_namespace(MARK)
    plane.api.create(POD | {"metadata": {**POD["metadata"], "namespace": namespace}})


def grows(value: Callable[[], float], before: float) -> bool:
    return value() > before


def test_the_api_server_is_served_by_its_certificate_alone(
    new_control_plane: NewControlPlane, tmp_path: Path
) -> None:
    ca = tmp_path / "clients.crt"
    ca.write_bytes(CALLERS.certificate_pem())
    good = showing(tmp_path / "good", client_pair(CALLERS, NAME))
    misnamed = showing(tmp_path / "misnamed", client_pair(CALLERS, "kubelet"))
    stranger = showing(tmp_path / "stranger", client_pair(STRANGER, NAME))
    plane = new_control_plane(
        controllers=False, scheduler=False, service_accounts=False, admission_configuration=good
    )
    guarded = {"client_ca": str(ca), "client_names": NAME}
    with Replica(tmp_path, plane.apiserver.kubeconfig, CONFIG, **guarded) as replica:
        replica.wait()
        with Registered(plane, by_url(replica)):
            create(plane)
            for shown, reason in ((misnamed, "client"), (stranger, "handshake"), ({}, "handshake")):
                plane.restart("kube-apiserver", admission_configuration=shown)
                rejected = partial(replica.metric, "admission_rejected_total", reason=reason)
                before = rejected()

                with pytest.raises(ApiError, match="failed calling webhook"):
                    create(plane)

                until(partial(grows, rejected, before), "the refusal to be counted")
            plane.restart("kube-apiserver", admission_configuration=good)
            create(plane)
        assert replica.metric("admission_requests_total") >= 2 * len(HOOKS)
