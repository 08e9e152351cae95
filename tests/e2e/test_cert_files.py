"""
Invalid renewals of certificate files: the server keeps the old certificate.

A real process with ``--tls files``, which real handshakes and the real API server ask all the
while. It looks five times a second instead of every ten seconds.
"""

import base64
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509

from certs.pem import CertificatePair
from tests.certs.test_files import mount
from tests.certs.world import DAY, authority, leaf, write_pair
from tests.controlplane import webhooks
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.certified import fetch_leaf
from tests.e2e.objects import workload
from tests.e2e.replica import CONFIG, Registered, Replica, configurations

MARK = {"evenspread.test/files": "yes"}
NAME = "by-files"
HOST = "127.0.0.1"

CA, OTHER_CA = authority(), authority()


def fresh(signer: CertificatePair = CA) -> CertificatePair:
    return leaf(signer, HOST)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files") / "tls"
    folder.mkdir()
    write_pair(folder, fresh())
    return folder


@pytest.fixture(scope="module")
def replica(control_plane: ControlPlane, folder: Path) -> Iterator[Replica]:
    settings = {"tls": "files", "tls_dir": str(folder), "name": NAME}
    kubeconfig = control_plane.apiserver.kubeconfig
    with Replica(folder.parent, kubeconfig, CONFIG, **settings) as started:
        started.wait()
        bundle = base64.b64encode(CA.certificate_pem()).decode()
        made = [
            webhooks.by_url(configuration, started.url, bundle)
            for configuration in configurations(NAME, MARK)
        ]
        with Registered(control_plane, made):
            yield started


@pytest.fixture
def namespace(control_plane: ControlPlane) -> str:
    return control_plane.create_namespace(MARK)


def served(replica: Replica, signer: CertificatePair = CA) -> x509.Certificate:
    return fetch_leaf(replica, signer.chain, HOST)


def wait_for(replica: Replica, pair: CertificatePair) -> None:
    until(lambda: served(replica) == pair.leaf, "a new pair to be served")


def swaps(replica: Replica, result: str) -> float:
    return replica.metric("certificate_rotations_total", type="leaf", result=result)


def last_warning(replica: Replica, message: str) -> str:
    """The last line about a certificate, if it is a warning with this message; else nothing."""
    last = [line for line in replica.lines if line["event"] == "certificate"][-1]
    return last["message"] if last["level"] == "warning" and message in last["message"] else ""


def begin_anew(folder: Path, pair: CertificatePair) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write_pair(folder, pair)


def replace_file(file: Path, content: bytes) -> None:
    """Replace a file at once, so that the server never reads a part of it."""
    whole = file.with_name("fresh")
    whole.write_bytes(content)
    whole.replace(file)


def replace_certificate(folder: Path) -> None:
    replace_file(folder / "tls.crt", fresh().certificate_pem())


def replace_key(folder: Path) -> None:
    replace_file(folder / "tls.key", fresh().key_pem())


def empty(folder: Path) -> None:
    replace_file(folder / "tls.crt", b"")


def expire(folder: Path) -> None:
    write_pair(folder, leaf(CA, HOST, lifetime=-DAY / 48))


# change of the folder -> message in the log
FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a certificate before its key": (replace_certificate, "does not belong to the certificate"),
    "another's key": (replace_key, "does not belong to the certificate"),
    "an empty file": (empty, "tls.crt: is empty"),
    "an expired pair": (expire, "expired at"),
    "no folder": (shutil.rmtree, "cannot be read: No such file"),
}


@pytest.mark.parametrize(("fault", "message"), FAULTS.values(), ids=FAULTS)
def test_the_old_certificate_is_served_until_a_good_one_stands_there(
    fault: Callable[[Path], object],
    message: str,
    *,
    replica: Replica,
    folder: Path,
    namespace: str,
    control_plane: ControlPlane,
) -> None:
    old, failures, successes = served(replica), swaps(replica, "failure"), swaps(replica, "success")

    fault(folder)
    until(lambda: swaps(replica, "failure") > failures, "the fault to be counted")
    last = until(lambda: last_warning(replica, message), "the fault to be logged")
    assert last.endswith("; the old certificate is served on")
    assert message in replica.page("/readyz?verbose")
    assert replica.ready
    assert served(replica) == old
    control_plane.api.create(workload("Pod", "it", namespace, {"app": "it"}), dryRun="All")

    good = fresh()
    begin_anew(folder, good)
    wait_for(replica, good)
    until(lambda: swaps(replica, "success") == successes + 1, "it to be counted")
    until(lambda: message not in replica.page("/readyz?verbose"), "the fault to be forgotten")


def test_a_pair_that_is_written_in_two_steps_is_served_after_the_second(
    replica: Replica, folder: Path
) -> None:
    old, failures, pair = served(replica), swaps(replica, "failure"), fresh()

    replace_file(folder / "tls.crt", pair.certificate_pem())
    until(lambda: swaps(replica, "failure") == failures + 1, "the first step to be noticed")
    between = served(replica)
    replace_file(folder / "tls.key", pair.key_pem())
    wait_for(replica, pair)

    assert between == old
    assert swaps(replica, "failure") == failures + 1


def test_a_volume_whose_symlink_is_swapped_is_followed_without_a_fault(
    replica: Replica, folder: Path
) -> None:
    volume = folder.parent / "volume"
    volume.mkdir()
    first = fresh()
    mount(volume, 0, first)
    shutil.rmtree(folder)
    folder.symlink_to(volume)
    wait_for(replica, first)
    failures = swaps(replica, "failure")

    for number in range(1, 6):
        pair = fresh()
        mount(volume, number, pair)
        wait_for(replica, pair)

    assert swaps(replica, "failure") == failures
    folder.unlink()
    begin_anew(folder, fresh())


def test_who_is_not_trusted_warns_and_stays_ready(
    replica: Replica, folder: Path, control_plane: ControlPlane
) -> None:
    until(lambda: replica.metric("ca_bundle_in_sync") == 1, "the bundles to be found good")

    begin_anew(folder, fresh(OTHER_CA))
    until(lambda: replica.metric("ca_bundle_in_sync") == 0, "the bundles to be found wanting")
    assert replica.ready
    warning = until(lambda: last_warning(replica, "caBundle does not lead"), "a warning")
    assert warning
    for kind in webhooks.KINDS:
        hook = {"apiVersion": webhooks.VERSION, "kind": kind, "metadata": {"name": NAME}}
        client = control_plane.api.read(hook)["webhooks"][0]["clientConfig"]
        assert base64.b64decode(client["caBundle"]) == CA.certificate_pem()  # left alone

    begin_anew(folder, fresh())
    until(lambda: replica.metric("ca_bundle_in_sync") == 1, "the bundles to be good again")
