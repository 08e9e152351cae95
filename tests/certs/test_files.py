import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from certs.errors import PairError
from certs.files import MAX_FILE_BYTES, file_source, read_file, read_pair
from certs.pem import CertificatePair, write_certificates
from certs.serving import LiveContext
from tests.certs.world import (
    DAY,
    World,
    authority,
    call,
    leaf,
    listening,
    strict_client,
    write_pair,
)

CA = authority()
FIRST, SECOND = leaf(CA), leaf(CA)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def live() -> LiveContext:
    return LiveContext()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tls"
    folder.mkdir()
    write_pair(folder, FIRST)
    return folder


def mount(volume: Path, number: int, pair: CertificatePair) -> None:
    """Publish a pair as kubelet does: a folder of its own, and one symlink that is renamed."""
    version = volume / f"..{number}"
    version.mkdir()
    write_pair(version, pair)
    (volume / "..data_tmp").symlink_to(version.name)
    (volume / "..data_tmp").replace(volume / "..data")
    for name in ("tls.crt", "tls.key"):
        if not (volume / name).is_symlink():
            (volume / name).symlink_to(f"..data/{name}")


async def test_the_pair_of_the_folder_is_served_from_the_start(
    folder: Path, live: LiveContext, world: World
) -> None:
    source = file_source(folder, live, world.environment)

    await source.start()

    async with listening(live) as port:
        assert await call(port, strict_client(CA.chain)) == FIRST.leaf
    assert source.status.ready
    assert source.status.leaf == FIRST.leaf
    assert world.complaints == []


async def test_an_atomic_swap_of_the_symlink_is_followed(
    tmp_path: Path, live: LiveContext, world: World
) -> None:
    mount(tmp_path, 1, FIRST)
    source = file_source(tmp_path, live, world.environment)
    await source.start()

    mount(tmp_path, 2, SECOND)
    await source.poll()

    assert live.served == SECOND
    assert world.complaints == []


async def test_the_old_pair_is_served_between_two_writes(
    folder: Path, live: LiveContext, world: World
) -> None:
    source = file_source(folder, live, world.environment)
    await source.start()

    (folder / "tls.crt").write_bytes(SECOND.certificate_pem())
    await source.poll()
    between = live.served
    (folder / "tls.key").write_bytes(SECOND.key_pem())
    await source.poll()

    assert between == FIRST
    assert live.served == SECOND
    assert source.status.problem == ""


def start_over(folder: Path, pair: CertificatePair) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write_pair(folder, pair)


def mismatch(folder: Path) -> None:
    (folder / "tls.key").write_bytes(SECOND.key_pem())


def empty(folder: Path) -> None:
    (folder / "tls.crt").write_bytes(b"")


def truncate(folder: Path) -> None:
    (folder / "tls.key").write_bytes(FIRST.key_pem()[:60])


def expire(folder: Path) -> None:
    write_pair(folder, leaf(CA, lifetime=-DAY / 48))


def postdate(folder: Path) -> None:
    write_pair(folder, leaf(CA, now=World().now + DAY))


def remove_one(folder: Path) -> None:
    (folder / "tls.key").unlink()


def forbid(folder: Path) -> None:
    (folder / "tls.crt").unlink()
    (folder / "tls.crt").mkdir()


def replace_by_pipe(folder: Path) -> None:
    (folder / "tls.key").unlink()
    os.mkfifo(folder / "tls.key")


def replace_by_device(folder: Path) -> None:
    (folder / "tls.crt").unlink()
    (folder / "tls.crt").symlink_to("/dev/zero")


def enlarge(folder: Path) -> None:
    with (folder / "tls.crt").open("ab") as file:
        file.truncate(MAX_FILE_BYTES + 1)


def blank(folder: Path) -> None:
    (folder / "tls.crt").write_bytes(b"\0" * 1000)


SPOILT = {
    "a pipe in the place of a file": (replace_by_pipe, r"tls\.key: is no regular file"),
    "a device in the place of a file": (replace_by_device, r"tls\.crt: is no regular file"),
    "a file larger than any Secret": (enlarge, r"tls\.crt: is larger than 1 MiB"),
    "a file of NUL bytes": (blank, "no readable PEM certificate"),
    "the key of another certificate": (mismatch, "does not belong to the certificate"),
    "an empty certificate": (empty, r"tls\.crt: is empty"),
    "a torn key": (truncate, "no readable PEM private key"),
    "an expired pair": (expire, "expired at"),
    "a pair of tomorrow": (postdate, "valid only from"),
    "a missing key": (remove_one, r"tls\.key: cannot be read: No such file"),
    "a folder in the place of a file": (forbid, r"tls\.crt: cannot be read: Is a directory"),
    "no folder any more": (shutil.rmtree, "cannot be read: No such file"),
}


@pytest.mark.parametrize(("spoil", "problem"), SPOILT.values(), ids=SPOILT)
async def test_the_old_pair_is_served_until_a_usable_one_appears(
    folder: Path, live: LiveContext, world: World, spoil: Callable[[Path], None], problem: str
) -> None:
    source = file_source(folder, live, world.environment)
    await source.start()

    spoil(folder)
    await source.poll()

    async with listening(live) as port:
        assert await call(port, strict_client(CA.chain)) == FIRST.leaf
    assert source.status.ready
    assert source.status.leaf == FIRST.leaf
    assert re.search(problem, source.status.problem)

    start_over(folder, SECOND)
    await source.poll()

    assert live.served == SECOND
    assert source.status.problem == ""


@pytest.mark.parametrize(("spoil", "problem"), SPOILT.values(), ids=SPOILT)
async def test_there_is_no_start_without_a_good_pair(
    folder: Path, live: LiveContext, world: World, spoil: Callable[[Path], None], problem: str
) -> None:
    spoil(folder)

    with pytest.raises(PairError, match=problem):
        await file_source(folder, live, world.environment).start()


async def test_the_authority_in_the_folder_is_the_trust_anchor(
    folder: Path, live: LiveContext, world: World
) -> None:
    (folder / "ca.crt").write_bytes(CA.certificate_pem())
    source = file_source(folder, live, world.environment)

    await source.start()

    assert source.status.authorities == CA.chain


async def test_without_ca_crt_the_chain_above_the_leaf_is_the_trust_anchor(
    folder: Path, live: LiveContext, world: World
) -> None:
    (folder / "tls.crt").write_bytes(write_certificates((FIRST.leaf, CA.leaf)))
    source = file_source(folder, live, world.environment)

    await source.start()

    assert source.status.authorities == CA.chain


async def test_a_stale_authority_beside_the_pair_does_not_matter(
    folder: Path, live: LiveContext, world: World
) -> None:
    (folder / "ca.crt").write_bytes(authority().certificate_pem())

    await file_source(folder, live, world.environment).start()

    assert live.served == FIRST


def test_a_symlink_that_is_swapped_between_two_reads_is_read_again(tmp_path: Path) -> None:
    mount(tmp_path, 1, FIRST)

    def read(path: Path) -> bytes:
        found = read_file(path)
        if found == FIRST.certificate_pem():
            mount(tmp_path, 2, SECOND)
        return found

    assert read_pair(tmp_path, read) == SECOND


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(PairError, match="no file can have that name"):
        read_file(Path("/tls\0"))
