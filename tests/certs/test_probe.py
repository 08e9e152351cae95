import pytest

from certs.clients import Clients
from certs.errors import PairError
from certs.pem import CertificatePair
from certs.probe import listener_probe
from certs.serving import LiveContext
from tests.certs.world import authority, leaf, listening

CA = authority()
PAIR = leaf(CA)


@pytest.mark.parametrize("clients", [None, Clients(authorities=CA.chain)], ids=["TLS", "mTLS"])
async def test_the_probe_accepts_the_served_certificate(clients: Clients | None) -> None:
    live = LiveContext(clients)
    live.swap(PAIR)

    async with listening(live) as port:
        await listener_probe("127.0.0.1", port)(PAIR)


async def test_another_certificate_is_reported() -> None:
    live = LiveContext()
    live.swap(leaf(CA))

    async with listening(live) as port:
        with pytest.raises(PairError, match=rf"listener 127\.0\.0\.1:{port}: the certificate can"):
            await listener_probe("127.0.0.1", port)(PAIR)


async def test_another_certificate_of_the_same_authority_is_reported() -> None:
    live = LiveContext()
    live.swap(leaf(CA))
    chained = CertificatePair(chain=(*PAIR.chain, *CA.chain), key=PAIR.key)

    async with listening(live) as port:
        with pytest.raises(PairError, match="another certificate is seen there"):
            await listener_probe("127.0.0.1", port)(chained)


async def test_a_listener_without_a_certificate_is_reported() -> None:
    async with listening(LiveContext()) as port:
        with pytest.raises(PairError, match="cannot be seen there"):
            await listener_probe("127.0.0.1", port)(PAIR)


async def test_a_missing_listener_is_reported() -> None:
    with pytest.raises(PairError, match="cannot be seen there"):
        await listener_probe("127.0.0.1", 9)(PAIR)
