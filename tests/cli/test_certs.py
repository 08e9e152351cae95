"""``evenspread certs``: certificates of folders, of a listener, and of a cluster."""

import base64
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from certs.pem import CertificatePair
from certs.secret import SecretStore
from certs.serving import LiveContext
from certs.state import Revocation
from certs.trust import Trust
from tests.apiserver import ApiServer, Json, refuse
from tests.certs.world import authority, leaf, listening, real_clock, write_pair
from tests.cli.conftest import Run, in_background
from webhook.cli.certs import START_S, await_revocation, fetch_served
from webhook.errors import SourceError

CA, STRANGER = authority(), authority()
PAIR = leaf(CA)
SECRET = "/api/v1/namespaces/ns/secrets/web-ca"
CLUSTER = ("--kubeconfig", "kubeconfig", "--name", "web")
NAMESPACE = ("-n", "ns")


@pytest.fixture
def state(folder: Path) -> Path:
    """A folder with the certificates of a standalone server."""
    write_pair(folder, PAIR)
    (folder / "ca.crt").write_bytes(CA.certificate_pem())
    return folder


def live_context() -> LiveContext:
    live = LiveContext()
    live.swap(PAIR, CA.chain)
    return live


@contextmanager
def listener() -> Iterator[str]:
    """A listener that serves PAIR."""
    with in_background(listening(live_context())) as port:
        yield f"127.0.0.1:{port}"


def configurations() -> list[Json]:
    """Both webhook configurations, with CA as their caBundle."""
    bundle = base64.b64encode(CA.certificate_pem()).decode()
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "web"},
            "webhooks": [{"name": "one.web", "clientConfig": {"caBundle": bundle}}],
        }
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    ]


def secret(**data: str) -> Json:
    metadata = {"name": "web-ca", "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


@pytest.mark.parametrize("flag", ["--state", "--tls-dir"])
@pytest.mark.usefixtures("state")
def test_the_certificates_of_a_folder_are_shown(flag: str, run: Run) -> None:
    ran = run("certs", flag, ".", "-o", "json")

    assert ran.code == 0
    (document,) = ran.documents
    served, trusted = document["certificates"]
    assert (served["where"], served["what"], served["daysLeft"]) == ("tls.crt", "leaf", 6)
    assert served["serial"] == f"{PAIR.leaf.serial_number:x}"
    assert served["issuer"] == trusted["subject"]
    assert (trusted["where"], trusted["what"]) == ("ca.crt", "bundle")
    assert document["chains"] == [{"leaf": "tls.crt", "bundle": "ca.crt", "trusted": True}]


def test_a_leaf_of_another_authority_is_a_finding(run: Run, state: Path) -> None:
    (state / "ca.crt").write_bytes(STRANGER.certificate_pem())

    ran = run("certs", "--state", ".")

    assert ran.code == 1
    assert "tls.crt does NOT lead to ca.crt\n" in ran.out


def test_a_folder_without_an_authority_has_a_note(run: Run, state: Path) -> None:
    (state / "ca.crt").unlink()

    ran = run("certs", "--tls-dir", ".")

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "ca.crt: does not exist")


@pytest.mark.parametrize(("trusted", "code"), [(CA, 0), (STRANGER, 1)], ids=["known", "unknown"])
def test_a_listener_is_checked_against_the_bundle(
    trusted: CertificatePair, code: int, run: Run, state: Path
) -> None:
    (state / "ca.crt").write_bytes(trusted.certificate_pem())
    with listener() as address:
        ran = run("certs", "--state", ".", "--address", address, "-o", "json")

    chain = ran.documents[0]["chains"][1]
    assert ran.code == code
    assert chain == {"leaf": address, "bundle": "ca.crt", "trusted": code == 0}


@contextmanager
def one_connection() -> Iterator[str]:
    """A listener that serves PAIR to one client, and then closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            server.close()
            with live_context().context.wrap_socket(connection, server_side=True) as wrapped:
                wrapped.recv(1)

        thread = Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join(60)


def test_a_listener_that_has_closed_is_an_error() -> None:
    with one_connection() as address:
        served = fetch_served(address)

    with pytest.raises(SourceError, match="does not answer any more: Connection refused"):
        served.trusted_by((CA.leaf,))


ERRORS = {
    "no folder": (("--state", "none"), 2, "cannot be read"),
    "no port": (("--address", "localhost"), 2, "write HOST:PORT"),
    "no listener": (("--address", "127.0.0.1:1"), 3, "serves no certificate"),
    "no cluster": (("--kubeconfig", "none"), 3, "credentials cannot be used"),
    "a rotation without a namespace": (("rotate",), 2, "--namespace: is required"),
    "a revocation without a namespace": (("revoke",), 2, "--namespace: is required"),
}


@pytest.mark.parametrize(("args", "code", "message"), ERRORS.values(), ids=ERRORS)
def test_errors(args: tuple[str, ...], code: int, message: str, run: Run) -> None:
    ran = run("certs", *args)

    assert ran.code == code
    assert message in ran.err


@pytest.mark.usefixtures("state")
def test_a_folder_is_checked_against_the_bundles_of_a_cluster(run: Run, api: ApiServer) -> None:
    api.add(*configurations())

    ran = run("certs", "--state", ".", *CLUSTER, *NAMESPACE, "-o", "json")

    assert ran.code == 0, ran.err
    (document,) = ran.documents
    assert [chain["trusted"] for chain in document["chains"]] == [True] * 3
    assert document["notes"] == ["Secret ns/web-ca: does not exist"]


def test_authorities_of_the_secret_are_shown(run: Run, api: ApiServer) -> None:
    entries = Trust().add(CA).render()
    api.add(secret(**{key: base64.b64encode(value).decode() for key, value in entries.items()}))

    ran = run("certs", *CLUSTER, *NAMESPACE, "-o", "json")

    assert ran.code == 0, ran.err
    (document,) = ran.documents
    assert [(row["where"], row["what"]) for row in document["certificates"]] == [
        ("Secret ns/web-ca", "authority")
    ]
    assert document["notes"] == [
        "MutatingWebhookConfiguration web: does not exist",
        "ValidatingWebhookConfiguration web: does not exist",
        "no served certificate was checked: name a replica with --address",
    ]


def test_without_a_namespace_the_secret_is_not_read(run: Run, api: ApiServer) -> None:
    ran = run("certs", *CLUSTER)

    assert ran.out.endswith("the Secret was not read: name its namespace with --namespace\n")
    assert [path for path in api.paths if "secrets" in path] == []


@pytest.mark.usefixtures("folder")
def test_a_secret_that_may_not_be_read_is_an_error(run: Run, api: ApiServer) -> None:
    api.answers[f"GET {SECRET}"] = refuse("secrets is forbidden")

    ran = run("certs", *CLUSTER, *NAMESPACE)

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: Secret ns/web-ca: ")


def test_an_api_server_that_closes_has_its_own_error(run: Run, api: ApiServer) -> None:
    api.otherwise = ssl.SSLError("closed")

    ran = run("certs", *CLUSTER, *NAMESPACE)

    assert ran.code == 3
    assert ran.err.startswith(f"error: {api.url}: ")


def revoked(at: datetime) -> Json:
    """The Secret after a replica has started a revocation."""
    entries = Trust(revocation=Revocation(at=at)).render()
    return secret(**{key: base64.b64encode(value).decode() for key, value in entries.items()})


async def test_a_revocation_is_awaited_until_a_replica_has_recorded_it() -> None:
    now = real_clock()
    server = ApiServer(revoked(now - timedelta(seconds=1)))
    slept: list[float] = []

    async def record(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == START_S - 1:
            server.put(SECRET, revoked(now))

    await await_revocation(SecretStore(server, "ns", "web-ca"), now, record)

    assert slept == [1] * (START_S - 1)


async def test_a_revocation_that_no_replica_starts_is_an_error() -> None:
    server = ApiServer(secret())
    slept: list[float] = []

    async def wait(seconds: float) -> None:
        slept.append(seconds)

    with pytest.raises(SourceError, match="within 60 s: run a replica") as error:
        await await_revocation(SecretStore(server, "ns", "web-ca"), real_clock(), wait)

    assert "with certificate.mode files, no replica uses this Secret: renew" in str(error.value)
    assert slept == [1] * START_S


REQUESTS = {
    "leaf": (("rotate",), "rotate-leaf", "a new leaf is requested"),
    "CA": (("rotate", "--ca"), "rotate-ca", "a new ca is requested"),
    "revocation": (("revoke",), "revoke", "the CA is revoked. A new CA signs"),
}


@pytest.mark.parametrize(("arguments", "annotation", "message"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_has_the_time_of_the_api_server(
    arguments: tuple[str, ...], annotation: str, message: str, run: Run, api: ApiServer
) -> None:
    now = real_clock().replace(microsecond=0) + timedelta(hours=1)
    api.clock = lambda: now
    api.add(revoked(now + timedelta(hours=1)))

    ran = run("certs", *arguments, *CLUSTER, *NAMESPACE)

    assert ran.code == 0, ran.err
    assert ran.out.startswith(f"Secret ns/web-ca: {message}")
    annotations: dict[str, Any] = api.objects[SECRET]["metadata"]["annotations"]
    ((found, time),) = annotations.items()
    assert found == f"evenspread.io/{annotation}"
    # Later than what was issued in the second of the request.
    assert datetime.fromisoformat(time) == now + timedelta(seconds=1)
