"""Who may call: the admission server with ``--client-ca`` and ``--client-names``, over real TLS."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from certs.clients import Clients
from certs.pem import CertificatePair
from certs.serving import LiveContext
from tests.certs.world import DAY, authority, client_pair, leaf, strict_client, write_pair
from tests.server.serving import (
    JSON,
    PATIENCE,
    UID,
    Running,
    call,
    head,
    review,
    serving,
    settled,
)
from webhook.server.http.limits import Limits

CA, CALLERS, STRANGER = authority(), authority(), authority()
NAME = "kube-apiserver"
TLS_1_2, TLS_1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
SWAPS, KNOCKS = 300, 40  # swaps go on until each caller has tried that often

GOOD = client_pair(CALLERS, NAME)
MISNAMED = client_pair(CALLERS, "kubelet")
SHUT_OUT = {
    "no certificate": None,
    "another CA": client_pair(STRANGER, NAME),
    "an expired certificate": client_pair(CALLERS, NAME, -DAY / 48),
}


def guarded(*names: str) -> LiveContext:
    live = LiveContext(Clients(authorities=CALLERS.chain, names=frozenset(names)))
    live.swap(leaf(CA, "127.0.0.1"), CA.chain)
    return live


def client(
    folder: Path, pair: CertificatePair | None, version: ssl.TLSVersion = TLS_1_3
) -> ssl.SSLContext:
    if pair is not None:
        write_pair(folder, pair)
    context = strict_client(CA.chain, folder if pair else None)
    context.maximum_version = version
    return context


@asynccontextmanager
async def guarding(limits: Limits | None = None) -> AsyncGenerator[tuple[Running, LiveContext]]:
    live = guarded(NAME)
    async with serving(limits, live=live) as server:
        yield server, live


@pytest.mark.parametrize("version", [TLS_1_2, TLS_1_3], ids=["TLS 1.2", "TLS 1.3"])
async def test_the_api_server_is_served(version: ssl.TLSVersion, tmp_path: Path) -> None:
    async with guarding() as (server, _):
        wire = await server.connect(client(tmp_path, GOOD, version))

        first, second = await wire.ask(call(review())), await wire.ask(call(review()))

    assert (first.status, first.response["uid"]) == (200, UID)
    assert second.status == 200
    assert not second.closes


async def test_any_client_of_the_ca_is_served_where_no_name_is_required(tmp_path: Path) -> None:
    async with serving(live=guarded()) as server:
        wire = await server.connect(client(tmp_path, MISNAMED))

        assert (await wire.ask(call(review()))).status == 200


@pytest.mark.parametrize("version", [TLS_1_2, TLS_1_3], ids=["TLS 1.2", "TLS 1.3"])
@pytest.mark.parametrize("pair", SHUT_OUT.values(), ids=SHUT_OUT)
async def test_others_do_not_get_through_the_handshake(
    pair: CertificatePair | None, version: ssl.TLSVersion, tmp_path: Path
) -> None:
    async with guarding() as (server, _):
        assert not await is_answered(server, client(tmp_path, pair, version))

        await settled(lambda: server.rejected("handshake") == 1)


@pytest.mark.parametrize("target", ["/mutate", "/validate", "/bind", "/"])
async def test_the_wrong_name_is_refused_before_the_body_is_there(
    target: str, tmp_path: Path
) -> None:
    async with guarding() as (server, _):
        wire = await server.connect(client(tmp_path, MISNAMED))

        reply = await wire.ask(head(target, headers={**JSON, "Content-Length": "1000"}))

        assert server.value("body_bytes") == 0
        assert reply.status == 403
        assert reply.body == b"the client certificate has none of the required names\n"
        assert reply.closes
        assert server.rejected("client") == 1
        assert server.lines[0]["reason"] == "client"


async def test_hundreds_of_swaps_under_load_never_open_the_door(tmp_path: Path) -> None:
    callers = {"the API server": GOOD, "the wrong name": MISNAMED, **SHUT_OUT}
    contexts = {}
    for name, pair in callers.items():
        (tmp_path / name).mkdir()
        contexts[name] = client(tmp_path / name, pair)
    pairs = [leaf(CA, "127.0.0.1") for _ in range(10)]
    answered: dict[str, list[bool]] = {name: [] for name in (*callers, "who has stayed")}
    swaps = 0

    def is_busy() -> bool:
        return swaps < SWAPS or min(map(len, answered.values())) < KNOCKS

    async def knock(server: Running, name: str) -> None:
        while is_busy():
            answered[name].append(await is_answered(server, contexts[name]))

    async def stay(server: Running) -> None:
        wire = await server.connect(contexts["the API server"])
        while is_busy():
            reply = await wire.ask(call(review()))
            answered["who has stayed"].append(reply.status == 200)

    patient = Limits(queued=PATIENCE, handshake=PATIENCE)  # the swaps keep the loop busy
    async with guarding(patient) as (server, live), asyncio.TaskGroup() as group:
        group.create_task(stay(server))
        for name in callers:
            group.create_task(knock(server, name))
        while is_busy():
            live.swap(pairs[swaps % len(pairs)], CA.chain)
            swaps += 1
            await asyncio.sleep(0)

    welcome = {"the API server", "who has stayed"}
    assert {name: set(addresses) for name, addresses in answered.items()} == {
        name: {name in welcome} for name in answered
    }


async def is_answered(server: Running, context: ssl.SSLContext) -> bool:
    """Return whether a review gets a verdict."""
    try:
        wire = await server.connect(context)
        return (await wire.ask(call(review()))).status == 200
    except (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError):
        return False
