import asyncio
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.clients import Clients
from certs.errors import PairError
from certs.pem import CertificatePair
from certs.serving import LiveContext, load, server_context, shake_hands
from tests.certs.world import (
    DAY,
    NOW,
    authority,
    call,
    client_pair,
    leaf,
    listening,
    strict_client,
    write_pair,
)

CA = authority()
FIRST, SECOND = leaf(CA), leaf(CA)
STRANGER = authority()
CALLERS = authority()

REFUSED = (ssl.SSLError, ConnectionResetError)  # the alert, unless the connection ends before it


def mismatched() -> CertificatePair:
    """What stands on disk between the two writes of a rotation; only force can build it."""
    pair = leaf(CA)
    object.__setattr__(pair, "key", ec.generate_private_key(ec.SECP256R1()))
    return pair


async def test_every_handshake_is_refused_before_the_first_certificate() -> None:
    async with listening(LiveContext()) as port:
        with pytest.raises(REFUSED):
            await call(port, strict_client(CA.chain))


async def test_a_swap_counts_from_the_next_handshake() -> None:
    live = LiveContext()
    live.swap(FIRST)

    async with listening(live) as port:
        before = await call(port, strict_client(CA.chain))
        live.swap(SECOND)
        after = await call(port, strict_client(CA.chain))

    assert (before, after) == (FIRST.leaf, SECOND.leaf)


async def test_a_swap_leaves_open_connections_alone() -> None:
    live = LiveContext()
    live.swap(FIRST)

    async with listening(live) as port:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=strict_client(CA.chain), server_hostname="localhost"
        )
        live.swap(leaf(STRANGER))
        writer.write(b"?")

        assert await reader.readexactly(5) == b"hello"
        writer.close()
        await writer.wait_closed()


async def test_a_client_that_names_no_host_is_served_the_same() -> None:
    live = LiveContext()
    pair = leaf(CA, "127.0.0.1")
    live.swap(pair)

    async with listening(live) as port:
        assert await call(port, strict_client(CA.chain), "127.0.0.1") == pair.leaf


BAD = {
    "a key of another certificate": (mismatched(), ()),
    "an authority that clients do not trust": (leaf(STRANGER), (CA.leaf,)),
    "a certificate that is no server's": (leaf(authority()), (leaf(CA).leaf,)),
}


@pytest.mark.parametrize(("pair", "trusted"), BAD.values(), ids=BAD)
async def test_a_bad_pair_leaves_the_old_one_in_use(
    pair: CertificatePair, trusted: tuple[x509.Certificate, ...]
) -> None:
    live = LiveContext()
    live.swap(FIRST)

    with pytest.raises(PairError):
        live.swap(pair, trusted)

    async with listening(live) as port:
        assert await call(port, strict_client(CA.chain)) == FIRST.leaf
    assert live.served is FIRST


def test_a_handshake_with_another_certificate_is_refused() -> None:
    context = server_context(None)
    load(context, FIRST)

    with pytest.raises(PairError, match="another certificate"):
        shake_hands(context, SECOND, (CA.leaf,))


def test_a_context_without_a_certificate_fails_the_handshake() -> None:
    with pytest.raises(PairError, match="a client would refuse it"):
        shake_hands(server_context(None), FIRST)


def test_a_pair_out_of_its_time_is_not_the_business_of_the_handshake() -> None:
    LiveContext().swap(leaf(CA, now=NOW - 90 * DAY), (CA.leaf,))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_http_1_1_is_agreed_on(version: ssl.TLSVersion) -> None:
    live = LiveContext()
    live.swap(FIRST)
    client = strict_client(CA.chain)
    client.maximum_version = version
    client.set_alpn_protocols(["h2", "http/1.1"])

    async with listening(live) as port:
        _, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=client, server_hostname="localhost"
        )
        agreed = writer.get_extra_info("ssl_object")
        assert (agreed.selected_alpn_protocol(), agreed.version()) == (
            "http/1.1",
            version.name.replace("_", "."),
        )
        writer.close()
        await writer.wait_closed()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
async def test_tls_1_1_is_refused() -> None:
    live = LiveContext()
    live.swap(FIRST)
    client = strict_client(CA.chain)
    client.minimum_version = client.maximum_version = ssl.TLSVersion.TLSv1_1
    client.set_ciphers("DEFAULT:@SECLEVEL=0")

    async with listening(live) as port:
        with pytest.raises(REFUSED):
            await call(port, client)


MTLS = {
    "the API server": (client_pair(CALLERS, "kube-apiserver"), True),
    "another CA": (client_pair(STRANGER, "kube-apiserver"), False),
    "an expired certificate": (client_pair(CALLERS, "kube-apiserver", -DAY / 48), False),
    "a certificate for servers only": (leaf(CALLERS, "kube-apiserver"), False),
}


async def is_served(port: int, client: ssl.SSLContext) -> bool:
    try:
        await call(port, client)
    except (OSError, asyncio.IncompleteReadError):
        return False
    return True


VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.mark.parametrize("version", VERSIONS, ids=["TLS 1.2", "TLS 1.3"])
@pytest.mark.parametrize(("caller", "served"), MTLS.values(), ids=MTLS)
@pytest.mark.parametrize("swaps", [1, 3])
async def test_only_callers_of_the_ca_are_let_in(
    tmp_path: Path, version: ssl.TLSVersion, caller: CertificatePair, swaps: int, *, served: bool
) -> None:
    write_pair(tmp_path, caller)
    live = LiveContext(Clients(authorities=CALLERS.chain))
    for _ in range(swaps):
        live.swap(leaf(CA), CA.chain)
    client = strict_client(CA.chain, tmp_path)
    client.maximum_version = version

    async with listening(live) as port:
        assert await is_served(port, client) is served


@pytest.mark.parametrize("version", VERSIONS, ids=["TLS 1.2", "TLS 1.3"])
@pytest.mark.parametrize("swaps", [1, 3])
async def test_a_caller_without_a_certificate_is_refused(
    version: ssl.TLSVersion, swaps: int
) -> None:
    live = LiveContext(Clients(authorities=CALLERS.chain))
    for _ in range(swaps):
        live.swap(leaf(CA))
    client = strict_client(CA.chain)
    client.maximum_version = version

    async with listening(live) as port:
        assert not await is_served(port, client)


@pytest.mark.parametrize("version", VERSIONS, ids=["TLS 1.2", "TLS 1.3"])
async def test_no_session_is_resumed(tmp_path: Path, version: ssl.TLSVersion) -> None:
    live = LiveContext(Clients(authorities=CALLERS.chain))
    live.swap(leaf(CA))
    write_pair(tmp_path, client_pair(CALLERS, "kube-apiserver"))
    client = strict_client(CA.chain, tmp_path)
    client.maximum_version = version
    session = None

    for _ in range(3):
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = live.context.wrap_bio(to_server, to_client, server_side=True)
        half = client.wrap_bio(to_client, to_server, server_hostname="localhost", session=session)
        for side in (half, server) * 3:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
        server.write(b"!")
        half.read(1)

        assert half.session_reused is False
        session = half.session


async def test_hundreds_of_swaps_never_admit_a_stranger(tmp_path: Path) -> None:
    live = LiveContext(Clients(authorities=CALLERS.chain))
    pairs = [leaf(CA) for _ in range(10)]
    live.swap(pairs[0])
    write_pair(tmp_path, client_pair(CALLERS, "kube-apiserver"))
    good = strict_client(CA.chain, tmp_path)
    answers: dict[bool, list[bool]] = {True: [], False: []}
    swapped = 0

    async def knock(port: int, client: ssl.SSLContext, *, expected: bool) -> None:
        while swapped < 300:
            answers[expected].append(await is_served(port, client))

    async with listening(live) as port, asyncio.TaskGroup() as group:
        group.create_task(knock(port, good, expected=True))
        group.create_task(knock(port, strict_client(CA.chain), expected=False))
        while swapped < 300:
            live.swap(pairs[swapped % 10])
            swapped += 1
            await asyncio.sleep(0)

    assert (set(answers[True]), set(answers[False])) == ({True}, {False})


def open_files() -> set[Path]:
    return {path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}


def test_the_key_touches_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    before = open_files()

    LiveContext().swap(FIRST)

    assert not list(tmp_path.rglob("*"))
    assert open_files() == before


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["good", "mismatched", "distrusted"]), max_size=8))
def test_the_last_usable_pair_is_always_served(attempts: list[str]) -> None:
    live = LiveContext()
    expected = None

    for attempt in attempts:
        pair = {"good": leaf(CA), "mismatched": mismatched(), "distrusted": leaf(STRANGER)}[attempt]
        try:
            live.swap(pair, CA.chain)
        except PairError:
            assert attempt != "good"
        else:
            expected = pair

    assert live.served is expected
    if expected is not None:
        shake_hands(live.context, expected, CA.chain)


PAIR = leaf(CA)


@pytest.mark.parametrize("clients", [None, Clients(authorities=CA.chain)], ids=["TLS", "mTLS"])
def test_the_check_accepts_the_served_certificate(clients: Clients | None) -> None:
    live = LiveContext(clients)
    live.swap(PAIR)

    live.check()


def test_another_certificate_is_reported() -> None:
    live = LiveContext()
    live.swap(leaf(CA))
    live.served = PAIR

    with pytest.raises(PairError, match="a client would refuse it"):
        live.check()


def test_another_certificate_of_the_same_authority_is_reported() -> None:
    live = LiveContext()
    live.swap(leaf(CA))
    live.served = CertificatePair(chain=(*PAIR.chain, *CA.chain), key=PAIR.key)

    with pytest.raises(PairError, match="a client would receive another certificate"):
        live.check()
