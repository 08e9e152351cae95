"""``evenspread certs``: from folders, from a listener, from a cluster."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from certs.serving import LiveContext
from certs.source import NoticeSubject
from tests.apiserver import listening, write_kubeconfig
from tests.certs.cluster import Cluster
from tests.certs.world import authority, leaf, real_clock, write_pair
from tests.certs.world import listening as listening_with_tls
from tests.cli.conftest import Run

CA, STRANGER = authority(), authority()
PAIR = leaf(CA)


@pytest.fixture
def kept(folder: Path) -> Path:
    """A folder as a standalone server keeps it."""
    write_pair(folder, PAIR)
    (folder / "ca.crt").write_bytes(CA.certificate_pem())
    return folder


@contextmanager
def listener() -> Iterator[str]:
    """A listener that serves PAIR, in a loop of its own, since commands block."""
    live = LiveContext()
    live.swap(PAIR, CA.chain)
    with background(listening_with_tls(live)) as port:
        yield f"127.0.0.1:{port}"


@contextmanager
def background(context: Any) -> Iterator[Any]:
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result(5)
        asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result(5)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


@pytest.mark.parametrize("flag", ["--state", "--tls-dir"])
def test_a_folder_is_shown(flag: str, run: Run, kept: Path) -> None:
    ran = run("certs", flag, ".", "-o", "json")

    assert ran.code == 0
    (document,) = ran.documents
    served, trusted = document["certificates"]
    assert (served["where"], served["what"], served["daysLeft"]) == ("tls.crt", "leaf", 6)
    assert served["serial"] == f"{PAIR.leaf.serial_number:x}"
    assert served["issuer"] == trusted["subject"]
    assert (trusted["where"], trusted["what"]) == ("ca.crt", "bundle")
    assert document["chains"] == [{"leaf": "tls.crt", "bundle": "ca.crt", "trusted": True}]


def test_a_leaf_of_somebody_else_is_a_finding(run: Run, kept: Path) -> None:
    (kept / "ca.crt").write_bytes(STRANGER.certificate_pem())

    ran = run("certs", "--state", ".")

    assert ran.code == 1
    assert "tls.crt does NOT lead to ca.crt\n" in ran.out


def test_a_folder_without_an_authority_says_so(run: Run, kept: Path) -> None:
    (kept / "ca.crt").unlink()

    ran = run("certs", "--tls-dir", ".")

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "ca.crt: does not exist")


@pytest.mark.parametrize(("trusted", "code"), [(CA, 0), (STRANGER, 1)], ids=["known", "unknown"])
def test_a_listener_is_asked(trusted: Any, code: int, run: Run, kept: Path) -> None:
    (kept / "ca.crt").write_bytes(trusted.certificate_pem())
    with listener() as address:
        ran = run("certs", "--state", ".", "--address", address, "-o", "json")

    chain = ran.documents[0]["chains"][1]
    assert ran.code == code
    assert chain == {"leaf": address, "bundle": "ca.crt", "trusted": code == 0}


MISTAKES = {
    "no folder": (("--state", "none"), 2, "cannot be read"),
    "no port": (("--address", "localhost"), 2, "write HOST:PORT"),
    "nobody there": (("--address", "127.0.0.1:1"), 3, "serves no certificate"),
    "no cluster": (("--kubeconfig", "none"), 3, "credentials cannot be used"),
    "a rotation nowhere": (("rotate",), 2, "--namespace: is required"),
}


@pytest.mark.parametrize(("args", "code", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told(args: tuple[str, ...], code: int, told: str, run: Run) -> None:
    ran = run("certs", *args)

    assert ran.code == code
    assert told in ran.err


@contextmanager
def reached(cluster: Cluster, folder: Path) -> Iterator[str]:
    """Serve a cluster, and write a kubeconfig of it."""
    with background(listening(cluster)):
        yield write_kubeconfig(folder, cluster.url)


def where(kubeconfig: str) -> tuple[str, ...]:
    return ("--kubeconfig", kubeconfig, "-n", "ns", "--name", "web")


def test_a_cluster_is_shown(run: Run, kept: Path) -> None:
    cluster = Cluster(real_clock)
    for path in [each for each in cluster.objects if each.endswith("/web")]:
        cluster.set_bundle(path, CA.leaf)
    with reached(cluster, kept) as kubeconfig:
        ran = run("certs", "--state", ".", *where(kubeconfig), "-o", "json")

    assert ran.code == 0, ran.err
    (document,) = ran.documents
    assert [each["trusted"] for each in document["chains"]] == [True] * 3
    assert document["notes"] == ["Secret ns/web-ca: does not exist"]


@pytest.mark.parametrize(
    ("flags", "subject"),
    [((), NoticeSubject.LEAF), (("--ca",), NoticeSubject.CA)],
    ids=["leaf", "CA"],
)
def test_a_rotation_is_asked_for(
    flags: tuple[str, ...], subject: NoticeSubject, run: Run, folder: Path
) -> None:
    cluster = Cluster(real_clock)
    cluster.ahead = timedelta(hours=1)
    path = "/api/v1/namespaces/ns/secrets/web-ca"
    cluster.put(path, {"metadata": {"name": "web-ca"}, "type": "Opaque"})
    with reached(cluster, folder) as kubeconfig:
        ran = run("certs", "rotate", *where(kubeconfig), *flags)

    assert ran.code == 0, ran.err
    assert ran.out == f"Secret ns/web-ca: a new {subject} is requested\n"
    ((annotation, wish),) = cluster.objects[path]["metadata"]["annotations"].items()
    assert annotation == f"evenspread.io/rotate-{subject}"
    by_the_server = datetime.fromisoformat(wish) - cluster.ahead
    assert abs(by_the_server - real_clock()) < timedelta(minutes=1)
