import multiprocessing
import stat
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from certs.errors import StateError
from certs.pem import write_certificates
from certs.serving import LiveContext
from certs.standalone import (
    RENEW_BEFORE,
    STANDALONE_LIFETIME,
    ensure_pair,
    hosts_for,
    locked,
    standalone_source,
)
from tests.certs.world import (
    DAY,
    NOW,
    World,
    authority,
    call,
    client_pair,
    leaf,
    listening,
    strict_client,
    write_pair,
)

HOSTS = hosts_for("127.0.0.1")

BINDS = {
    "loopback": ("127.0.0.1", ("localhost", "127.0.0.1", "::1")),
    "an address of the network": ("192.0.2.7", ("localhost", "127.0.0.1", "::1", "192.0.2.7")),
    "an IPv6 address": ("2001:db8::7", ("localhost", "127.0.0.1", "::1", "2001:db8::7")),
    "a name": ("web.example", ("localhost", "127.0.0.1", "::1", "web.example")),
    "all IPv4 addresses": ("0.0.0.0", ("localhost", "127.0.0.1", "::1")),
    "all IPv6 addresses": ("::", ("localhost", "127.0.0.1", "::1")),
    "nothing": ("", ("localhost", "127.0.0.1", "::1")),
}


@pytest.mark.parametrize(("bind", "hosts"), BINDS.values(), ids=BINDS)
def test_the_leaf_is_for_this_machine_and_the_address_it_listens_on(
    bind: str, hosts: tuple[str, ...]
) -> None:
    assert hosts_for(bind) == hosts


@pytest.mark.parametrize("name", HOSTS)
async def test_the_strictest_client_trusts_it_from_the_start(tmp_path: Path, name: str) -> None:
    world, live = World(), LiveContext()
    source = standalone_source(tmp_path / "state", "127.0.0.1", live, world.environment)

    await source.start()

    async with listening(live) as port:
        served = await call(port, strict_client(source.status.authorities), name)
    assert source.status.ready
    assert source.status.leaf == served
    assert (tmp_path / "state" / "ca.crt").read_bytes() == write_certificates(
        source.status.authorities
    )


def test_files_and_folder_are_for_their_owner_only(tmp_path: Path) -> None:
    state = tmp_path / "a" / "state"

    ensure_pair(state, HOSTS, now=NOW)

    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "tls.key").stat().st_mode) == 0o600
    assert sorted(path.name for path in state.iterdir()) == ["ca.crt", "tls.crt", "tls.key"]


def test_the_key_of_the_authority_stands_nowhere(tmp_path: Path) -> None:
    ensure_pair(tmp_path, HOSTS, now=NOW)

    keys = [p.name for p in tmp_path.iterdir() if b"PRIVATE" in p.read_bytes()]

    assert keys == ["tls.key"]
    assert (tmp_path / "tls.key").read_bytes().count(b"BEGIN") == 1


def test_access_of_other_users_to_a_key_is_removed(tmp_path: Path) -> None:
    ensure_pair(tmp_path, HOSTS, now=NOW)
    (tmp_path / "tls.key").chmod(0o644)

    ensure_pair(tmp_path, HOSTS, now=NOW)

    assert stat.S_IMODE((tmp_path / "tls.key").stat().st_mode) == 0o600


def test_a_pair_is_created_once(tmp_path: Path) -> None:
    made = ensure_pair(tmp_path, HOSTS, now=NOW)

    assert ensure_pair(tmp_path, HOSTS, now=NOW + 300 * DAY) == made


def test_a_pair_for_more_addresses_serves_fewer(tmp_path: Path) -> None:
    made = ensure_pair(tmp_path, hosts_for("192.0.2.7"), now=NOW)

    assert ensure_pair(tmp_path, HOSTS, now=NOW) == made


def tear(folder: Path) -> None:
    other = leaf(authority(), *HOSTS)
    (folder / "tls.crt").write_bytes(other.certificate_pem())


def replace_authority(folder: Path) -> None:
    (folder / "ca.crt").write_bytes(authority().certificate_pem())


def without_names(folder: Path) -> None:
    signer = authority()
    write_pair(folder, client_pair(signer, "web"))
    (folder / "ca.crt").write_bytes(signer.certificate_pem())


SPOILT = {
    "the certificate of a crash between two files": tear,
    "another authority": replace_authority,
    "a missing key": lambda folder: (folder / "tls.key").unlink(),
    "a missing authority": lambda folder: (folder / "ca.crt").unlink(),
    "an empty certificate": lambda folder: (folder / "tls.crt").write_bytes(b""),
    "a broken key": lambda folder: (folder / "tls.key").write_bytes(b"-----BEGIN"),
    "a certificate without names": without_names,
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_an_unusable_pair_is_replaced(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    made = ensure_pair(tmp_path, HOSTS, now=NOW)
    spoil(tmp_path)

    again = ensure_pair(tmp_path, HOSTS, now=NOW)

    assert again != made
    assert ensure_pair(tmp_path, HOSTS, now=NOW) == again


LATER = {
    "a day before the end": STANDALONE_LIFETIME - RENEW_BEFORE,
    "after the end": STANDALONE_LIFETIME + DAY,
    "before the beginning": -DAY,
}


@pytest.mark.parametrize("after", LATER.values(), ids=LATER)
def test_an_expiring_pair_is_replaced(tmp_path: Path, after: timedelta) -> None:
    made = ensure_pair(tmp_path, HOSTS, now=NOW)

    assert ensure_pair(tmp_path, HOSTS, now=NOW + after) != made


def test_a_pair_for_another_address_is_replaced(tmp_path: Path) -> None:
    ensure_pair(tmp_path, HOSTS, now=NOW)

    leaf_of_all = ensure_pair(tmp_path, hosts_for("192.0.2.7"), now=NOW).pair.leaf

    names = leaf_of_all.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "192.0.2.7" in {str(one) for one in names.get_values_for_type(x509.IPAddress)}


def test_servers_at_two_addresses_share_a_folder(tmp_path: Path) -> None:
    ensure_pair(tmp_path, hosts_for("192.0.2.7"), now=NOW)
    both = ensure_pair(tmp_path, hosts_for("web.example"), now=NOW)

    assert ensure_pair(tmp_path, hosts_for("192.0.2.7"), now=NOW) == both
    assert ensure_pair(tmp_path, hosts_for("web.example"), now=NOW) == both


def test_a_half_written_file_of_a_crash_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".tls.key.new").write_bytes(b"half a key")

    ensure_pair(tmp_path, HOSTS, now=NOW)

    assert not (tmp_path / ".tls.key.new").exists()


def test_an_impossible_folder_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StateError, match=r"cannot keep a certificate: .*--state"):
        ensure_pair(tmp_path / "file" / "state", HOSTS, now=NOW)


async def test_a_running_server_renews_before_the_end(tmp_path: Path) -> None:
    world, live = World(), LiveContext()
    source = standalone_source(tmp_path, "127.0.0.1", live, world.environment)
    await source.start()
    first = live.served

    world.now += STANDALONE_LIFETIME - timedelta(hours=1)
    await source.poll()

    assert live.served != first
    assert source.status.problem == ""


async def test_a_running_server_follows_the_pair_of_another_process(tmp_path: Path) -> None:
    world, live = World(), LiveContext()
    source = standalone_source(tmp_path, "127.0.0.1", live, world.environment)
    await source.start()

    made = ensure_pair(tmp_path, hosts_for("192.0.2.7"), now=NOW)
    await source.poll()

    assert live.served == made.pair
    assert world.complaints == []


async def test_a_deleted_folder_is_created_again_with_a_new_pair(tmp_path: Path) -> None:
    world, live = World(), LiveContext()
    state = tmp_path / "state"
    source = standalone_source(state, "127.0.0.1", live, world.environment)
    await source.start()
    first = live.served

    for path in state.iterdir():
        path.unlink()
    state.rmdir()
    state.write_text("a file now")
    await source.poll()

    assert live.served == first
    assert [text.count("the old certificate is served on") for text in world.complaints] == [1]


def test_a_folder_that_another_process_holds_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    ensure_pair(tmp_path, HOSTS, now=NOW)

    with (
        locked(tmp_path),
        pytest.raises(StateError, match="is locked by another process"),
        locked(tmp_path, tries=2),
    ):
        pytest.fail("two hold the same lock")


def make_pair(folder: Path, now: datetime) -> bytes:
    return ensure_pair(folder, HOSTS, now=now).pair.certificate_pem()


def test_processes_that_start_at_once_agree_on_one_pair(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        made = pool.starmap(make_pair, [(tmp_path / "state", NOW)] * 8, chunksize=1)

    assert len(set(made)) == 1
