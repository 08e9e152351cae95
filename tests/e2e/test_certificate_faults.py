"""A Secret and caBundles that others damage, and replicas that die while they write them."""

import asyncio
import base64
import json
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from certs.errors import PairError
from certs.issue import make_authority
from certs.pem import fingerprint, read_certificates
from certs.secret import RotationRequest, request_time
from certs.trust import CA_BUNDLE, STATE, Trust
from tests.apiserver import write_kubeconfig
from tests.certs.world import DAY, authority, real_clock
from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.apiproxy import ApiProxy, proxying
from tests.e2e.certified import Certificates, Certified
from tests.e2e.load import Load
from tests.e2e.objects import LONG, rounds
from tests.e2e.oracles import check_process, webhook_errors
from tests.e2e.replica import Replica
from tests.faults.plugin import FaultReport

MARK = {"evenspread.test/damaged": "yes"}
LEAF_S, OVERLAP_S = 15, rounds(2, 5)  # a leaf is renewed 5 s before its end
RATE = 20  # creations a second
CALLS = 60  # creations after each fault
PATIENCE_S = 120.0
REPAIR_S = 5.0  # until a bundle is repaired, as promised
FIGHT_S = rounds(5, 60)  # for how long another client writes a bundle again and again


@pytest.fixture(scope="module")
def certified(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Certified]:
    folder = tmp_path_factory.mktemp("damaged")
    with Certified(
        control_plane, folder, "damaged", MARK, count=2, leaf_s=LEAF_S, overlap_s=OVERLAP_S
    ) as started:
        yield started


def listed(certified: Certified) -> tuple[frozenset[str], frozenset[str]]:
    """Names of the certificates that the Secret trusts, and of all that it lists."""
    data: dict[str, str] = certified.plane.api.read(certified.secret).get("data") or {}
    entries = {key: base64.b64decode(text) for key, text in data.items()}
    trusted = read_certificates(entries[CA_BUNDLE])
    names = Trust.parse(entries, where="Secret").certificates.keys()
    return frozenset(map(fingerprint, trusted)), frozenset(names)


def is_consistent(certified: Certified) -> bool:
    """Whether all agree: the Secret, both bundles, and what every replica serves and reports."""
    try:
        trusted, known = listed(certified)
        bundles = [frozenset(map(fingerprint, bundle)) for bundle in certified.published]
        for replica in certified.replicas:
            for bundle in certified.published:
                certified.fetch_leaf(replica, bundle)
    except (OSError, KeyError, PairError):
        return False
    are_right = all(trusted <= bundle <= known for bundle in bundles)
    return are_right and all(replica.ready for replica in certified.replicas)


def settle(certified: Certified, load: Load) -> None:
    """Wait until all is consistent again, and more pods were created without a failure."""
    until(partial(is_consistent, certified), "a consistent state", patience_s=PATIENCE_S)
    webhooks.settle(certified.plane.api)
    with load.held():  # a call in flight may have begun before
        created, failures = load.created, len(load.failures)
    until(lambda: load.created > created + CALLS, "more creations", patience_s=PATIENCE_S)
    assert load.failures[failures:] == []


def is_problem(certified: Certified, text: str) -> bool:
    """Whether an Event about certificates contains a text."""
    events = certified.plane.api.items("v1", "Event", certified.namespace)
    found = (event["message"] for event in events if event["reason"] == "CertificateProblem")
    return any(text in message for message in found)


def write_state(certified: Certified, state: bytes) -> None:
    """Put another state into the Secret, as a client with the right to do so."""
    secret = certified.plane.api.read(certified.secret)
    secret["data"] = {**(secret.get("data") or {}), STATE: base64.b64encode(state).decode()}
    certified.plane.api.replace(secret)


def corrupt(certified: Certified) -> None:
    """The state is cut off in the middle."""
    secret = certified.plane.api.read(certified.secret)
    state = base64.b64decode(secret["data"][STATE])
    write_state(certified, state[: len(state) // 2])


def forge(certified: Certified) -> None:
    """A CA of another client takes the place of ours."""
    stranger = make_authority(now=real_clock(), lifetime=365 * DAY)
    entry = {
        "certificate": stranger.certificate_pem().decode(),
        "key": stranger.key_pem().decode(),
        "published": None,
        "promoted": real_clock().isoformat(),
        "leaving": False,
    }
    write_state(certified, json.dumps({"version": 1, "authorities": [entry]}).encode())


def delete(certified: Certified) -> None:
    """The Secret is deleted, and a person applies the empty one of the manifests again."""
    certified.plane.api.delete(certified.secret)
    title = f"Secret {certified.namespace}/{certified.name}-ca: does not exist"
    for replica in certified.replicas:
        until(partial(reports, replica, title), "a report", patience_s=PATIENCE_S)
        assert replica.ready
    certified.plane.api.create({**certified.secret, "type": "Opaque"})


def reports(replica: Replica, problem: str) -> bool:
    return problem in replica.page("/readyz?verbose")


@pytest.mark.fault(10)
def test_a_damaged_secret_fails_no_creation(
    certified: Certified, fault_report: FaultReport
) -> None:
    plane = certified.plane
    namespace = plane.create_namespace(MARK)
    backup = base64.b64decode(plane.api.read(certified.secret)["data"][STATE])

    def restore(certified: Certified) -> None:
        """A backup is restored."""
        write_state(certified, backup)

    damages: list[Callable[[Certified], None]] = [corrupt, forge, delete, restore]
    before = webhook_errors(plane.apiserver)
    with Load(plane.api, namespace, rate=RATE, least=0) as load:
        for damage in damages:
            bundles = certified.published
            damage(certified)
            until(partial(is_changed, certified, bundles), "new bundles", patience_s=PATIENCE_S)
            settle(certified, load)
    fault_report.record(
        load=f"{RATE} creations a second under Fail",
        calls=load.created + len(load.failures),
        failed=len(load.failures),
        outcome="Secret corrupted, forged, deleted, restored: a CA of the Secret signs each time",
    )
    assert load.failures == []
    assert webhook_errors(plane.apiserver) == before
    until(partial(is_problem, certified, "cannot be understood"), "an Event")
    for replica in certified.replicas:
        check_process(replica)


def is_changed(certified: Certified, bundles: list[Certificates]) -> bool:
    return certified.published != bundles


def overwrite(certified: Certified, bundle: str | None) -> None:
    """Write the bundle of both configurations, whatever a replica writes meanwhile."""
    for kind, hook in zip(webhooks.KINDS, ("mutate", "validate"), strict=True):
        metadata = {"name": certified.name}
        named: Json = {"apiVersion": webhooks.VERSION, "kind": kind, "metadata": metadata}
        changed = {"name": f"{hook}.evenspread.io", "clientConfig": {"caBundle": bundle}}
        certified.plane.api.merge(named, {"webhooks": [changed]})


@contextmanager
def fighting(certified: Certified, bundle: str) -> Generator[None]:
    """Overwrite the bundles again and again."""
    over = threading.Event()

    def fight() -> None:
        while not over.wait(0.2):
            overwrite(certified, bundle)

    thread = threading.Thread(target=fight)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def repairs(certified: Certified) -> float:
    """How often replicas wrote bundles."""
    lines = [line.get("message", "") for replica in certified.replicas for line in replica.lines]
    return sum("authorities into caBundle" in line for line in lines)


@pytest.mark.fault(11)
def test_an_overwritten_bundle_is_repaired(certified: Certified, fault_report: FaultReport) -> None:
    namespace = certified.plane.create_namespace(MARK)
    stranger = base64.b64encode(authority().certificate_pem()).decode()
    took: list[float] = []
    with Load(certified.plane.api, namespace, rate=RATE, least=0) as load:
        for bundle in (None, stranger, base64.b64encode(b"garbage").decode()):
            overwrite(certified, bundle)
            start = time.monotonic()
            until(partial(is_repaired, certified), "the repair", patience_s=PATIENCE_S)
            took.append(time.monotonic() - start)
            settle(certified, load)
        before = repairs(certified)
        with fighting(certified, stranger):
            time_is_up = time.monotonic() + FIGHT_S
            until(lambda: time.monotonic() > time_is_up, "a fight", patience_s=PATIENCE_S)
        fought = repairs(certified) - before
        settle(certified, load)
    outcome = (
        f"repaired after {', '.join(f'{seconds:.1f} s' for seconds in took)}; {fought:.0f} repairs "
        f"in a fight of {FIGHT_S} s; no call failed after a repair"
    )
    print(outcome)
    fault_report.record(
        load=f"{RATE} creations a second under Fail",
        calls=load.created + len(load.failures),
        failed=len(load.failures),
        outcome=outcome,
    )
    assert not LONG or max(took) < REPAIR_S
    # Each replica pauses for 1, 2, 4, ... seconds; a hot loop makes two repairs a second.
    assert fought <= 2 * (3 + FIGHT_S.bit_length())
    until(partial(is_problem, certified, "another client has changed it"), "an Event")


def is_repaired(certified: Certified) -> bool:
    trusted, _ = listed(certified)
    try:
        return all(trusted <= frozenset(map(fingerprint, bundle)) for bundle in certified.published)
    except PairError:  # garbage
        return False


MOMENTS = [(number, delivered) for number in range(1, 10) for delivered in (False, True)]
"""
The writes of a rotation, each before and after it reaches the API server.

ADD_CA, two bundles, RECORD, PROMOTE, DROP, two bundles, FORGET.
"""
SHORT_MOMENTS = [(1, True), (3, False)]


@pytest.mark.fault(16)
async def test_a_replica_that_is_killed_in_the_middle_of_a_rotation_goes_on_with_it(
    control_plane: ControlPlane, tmp_path: Path, fault_report: FaultReport
) -> None:
    async with proxying(control_plane.api) as proxy:
        rotations = await asyncio.to_thread(rotate_and_kill, control_plane, tmp_path, proxy)
    fault_report.record(
        load="one replica",
        calls=rotations,
        failed=0,
        outcome=f"{rotations} rotations, each killed at another write, all completed",
    )


def rotate_and_kill(plane: ControlPlane, folder: Path, proxy: ApiProxy) -> int:
    user = {"token": plane.api.token}
    kubeconfig = write_kubeconfig(folder, f"http://127.0.0.1:{proxy.port}", user=user)
    moments = MOMENTS if LONG else SHORT_MOMENTS
    with Certified(
        plane, folder, "killed", MARK, count=1, leaf_s=LEAF_S, overlap_s=OVERLAP_S
    ) as certified:
        (replica,) = certified.replicas
        real = str(plane.apiserver.kubeconfig)
        command = (kubeconfig if word == real else word for word in replica.process.command)
        replica.process.command = tuple(command)
        replica.process.kill()
        replica.process.start()
        replica.wait()
        for number, delivered in moments:
            ((old,), _) = certified.published
            killed = threading.Event()
            proxy.answer = killer(proxy, certified, number, killed, delivered=delivered)
            request_rotation(certified)
            assert killed.wait(PATIENCE_S), f"no write {number}"
            proxy.answer = None
            replica.process.start()
            replica.wait()
            until(partial(is_rotated, certified, old), "its end", patience_s=PATIENCE_S)
            check_process(replica)
    return len(moments)


def request_rotation(certified: Certified) -> None:
    """Do what ``evenspread certs rotate --ca`` does, without a process of its own."""
    at = request_time(real_clock()).isoformat(timespec="seconds")
    annotations = {"annotations": {RotationRequest.CA: at}}
    certified.plane.api.merge(certified.secret, {"metadata": annotations})


def is_rotated(certified: Certified, old: Any) -> bool:
    """Whether the old CA is gone; meanwhile a client that trusts a bundle trusts what is served."""
    (replica,) = certified.replicas
    for bundle in certified.published:
        if replica.ready:
            try:
                certified.fetch_leaf(replica, bundle)
            except OSError:
                if bundle in certified.published:  # else it was replaced meanwhile
                    raise
    return all(len(bundle) == 1 and old not in bundle for bundle in certified.published)


def killer(
    proxy: ApiProxy, certified: Certified, number: int, killed: threading.Event, *, delivered: bool
) -> Callable[[web.Request], Any]:
    """Kill the replica at a write, before or after the API server gets it."""
    count = iter(range(1, 1000))
    process = certified.replicas[0].process

    def kill() -> None:  # in a thread, since the end of its connection cancels ``answer``
        process.kill()
        killed.set()

    async def answer(request: web.Request) -> web.Response | None:
        is_ours = "secrets" in request.path or "webhookconfigurations" in request.path
        if request.method != "PATCH" or not is_ours or next(count) != number:
            return None
        if delivered:
            await proxy.deliver(request)
        await asyncio.to_thread(kill)
        return web.Response(status=503)

    return answer
