"""Who may call: the admission server with ``--client-ca`` and ``--client-names``, over real TLS."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from certs.clients import Clients
from certs.pem import Bundle
from certs.serving import LiveContext
from tests.certs.world import DAY, authority, client_pair, leaf, strict_client, write_pair
from tests.webhook.serving import JSON, UID, Running, call, head, review, serving, settled
from webhook.certificate import admitted_clients
from webhook.config.settings import Settings
from webhook.errors import ConfigError

CA, CALLERS, STRANGER = authority(), authority(), authority()
NAME = "kube-apiserver"
TLS_1_2, TLS_1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
SWAPS = 20  # handshakes are tried at each; enough to meet one between any two requests

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


def client(folder: Path, pair: Bundle | None, version: ssl.TLSVersion = TLS_1_3) -> ssl.SSLContext:
    if pair is not None:
        write_pair(folder, pair)
    context = strict_client(CA.chain, folder if pair else None)
    context.maximum_version = version
    return context


@asynccontextmanager
async def guarding() -> AsyncGenerator[tuple[Running, LiveContext]]:
    live = guarded(NAME)
    async with serving(live=live) as server:
        yield server, live


@pytest.mark.parametrize("version", [TLS_1_2, TLS_1_3], ids=["TLS 1.2", "TLS 1.3"])
async def test_the_api_server_is_served(version: ssl.TLSVersion, tmp_path: Path) -> None:
    async with guarding() as (server, _):
        wire = await server.connect(client(tmp_path, GOOD, version))

        first, second = await wire.ask(call(review())), await wire.ask(call(review()))

    assert (first.status, first.response["uid"]) == (200, UID)
    assert second.status == 200
    assert not second.closes


async def test_any_client_of_the_ca_is_served_where_no_name_is_asked_for(tmp_path: Path) -> None:
    async with serving(live=guarded()) as server:
        wire = await server.connect(client(tmp_path, MISNAMED))

        assert (await wire.ask(call(review()))).status == 200


@pytest.mark.parametrize("version", [TLS_1_2, TLS_1_3], ids=["TLS 1.2", "TLS 1.3"])
@pytest.mark.parametrize("pair", SHUT_OUT.values(), ids=SHUT_OUT)
async def test_others_do_not_get_through_the_handshake(
    pair: Bundle | None, version: ssl.TLSVersion, tmp_path: Path
) -> None:
    async with guarding() as (server, _):
        assert not await is_answered(server, client(tmp_path, pair, version))

        await settled(lambda: server.rejected("handshake") == 1)


@pytest.mark.parametrize("target", ["/mutate", "/validate", "/"])
async def test_the_wrong_name_is_refused_before_the_body_is_there(
    target: str, tmp_path: Path
) -> None:
    async with guarding() as (server, _):
        wire = await server.connect(client(tmp_path, MISNAMED))

        reply = await wire.ask(head(target, headers={**JSON, "Content-Length": "1000"}))

        assert server.value("body_bytes") == 0
        assert reply.status == 403
        assert reply.body == b"the certificate of this client has none of the names asked for\n"
        assert reply.closes
        assert server.rejected("client") == 1
        assert server.lines[0]["reason"] == "client"


async def test_the_door_stays_shut_while_certificates_are_swapped(tmp_path: Path) -> None:
    contexts = {}
    for name, pair in {**SHUT_OUT, "the wrong name": MISNAMED}.items():
        folder = tmp_path / name
        folder.mkdir()
        contexts[name] = client(folder, pair)
    good = client(tmp_path, GOOD)
    async with guarding() as (server, live):
        stays = await server.connect(good)
        for _ in range(SWAPS):
            live.swap(leaf(CA, "127.0.0.1"), CA.chain)
            comes = await server.connect(good)

            assert not any([await is_answered(server, each) for each in contexts.values()])
            assert (await stays.ask(call(review()))).status == 200
            assert (await comes.ask(call(review()))).status == 200


async def is_answered(server: Running, context: ssl.SSLContext) -> bool:
    """Tell whether a review gets a verdict."""
    try:
        wire = await server.connect(context)
        return (await wire.ask(call(review()))).status == 200
    except (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError):
        return False


def test_without_a_ca_nobody_is_asked() -> None:
    assert admitted_clients(Settings()) is None


def test_the_ca_and_the_names_come_from_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "clients.crt"
    file.write_bytes(CALLERS.certificate_pem())

    clients = admitted_clients(Settings(client_ca=str(file), client_names="a, b.example,"))

    assert clients == Clients(authorities=CALLERS.chain, names=frozenset({"a", "b.example"}))


MISTAKES = {
    "names without a CA": (
        {"client_names": "a"},
        "--client-names: no certificate is asked for without --client-ca: name the file of the CA",
    ),
    "names of nobody, which must not be anybody": (
        {"client_ca": "ca.crt", "client_names": " ,"},
        "--client-names: names nobody: write a name, or leave it out",
    ),
    "a file that is not there": (
        {"client_ca": "/no/ca.crt"},
        "--client-ca: '/no/ca.crt' cannot be read: No such file or directory",
    ),
}


@pytest.mark.parametrize(("members", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told(members: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        admitted_clients(Settings.model_validate(members))

    assert str(caught.value) == told
