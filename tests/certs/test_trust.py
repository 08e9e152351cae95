import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certs.errors import PairError, StoreError
from certs.pem import CertificatePair, fingerprint, read_certificates
from certs.state import Revocation, RotationAction, RotationStep, Validity
from certs.trust import CA_BUNDLE, STATE, Trust, signing, validity
from tests.certs.world import DAY, NOW, authority, client_pair, leaf

FIRST, SECOND, THIRD = authority(), authority(), authority()


def name(pair: CertificatePair) -> str:
    return fingerprint(pair.leaf)


def step(action: RotationAction, *pairs: CertificatePair) -> RotationStep:
    return RotationStep(action, frozenset(map(name, pairs)))


def rotated() -> Trust:
    """One that is retired, one that signs, one that is next."""
    trust = Trust().add(FIRST).advance(step(RotationAction.PROMOTE, FIRST), NOW)
    trust = trust.add(SECOND).advance(step(RotationAction.RECORD, SECOND), NOW)
    return trust.advance(step(RotationAction.PROMOTE, SECOND), NOW + DAY).add(THIRD)


def test_an_empty_secret_has_no_authority() -> None:
    assert Trust.parse({}, where="Secret") == Trust()


def test_written_trust_is_read_back_unchanged() -> None:
    assert Trust.parse(rotated().render(), where="Secret") == rotated()


@given(
    published=st.none() | st.datetimes(timezones=st.just(UTC)),
    promoted=st.datetimes(timezones=st.just(UTC)),
    leaving=st.booleans(),
)
def test_times_survive_to_the_microsecond(
    published: datetime | None, promoted: datetime, *, leaving: bool
) -> None:
    trust = Trust().add(FIRST).advance(step(RotationAction.PROMOTE, FIRST), promoted)
    if published:
        trust = trust.advance(step(RotationAction.RECORD, FIRST), published)
    if leaving:
        trust = trust.advance(step(RotationAction.DROP, FIRST), promoted)

    assert Trust.parse(trust.render(), where="Secret") == trust


@pytest.mark.parametrize("ended", [False, True])
def test_a_revocation_survives_every_change(*, ended: bool) -> None:
    recorded = Revocation(at=NOW, ended=ended)
    begun = rotated().advance(RotationStep(RotationAction.REVOKE, revocation=recorded), NOW)

    trust = begun.advance(step(RotationAction.FORGET, FIRST), NOW).add(authority())
    trust = trust.add_foreign([FIRST.leaf], NOW)

    assert begun == replace(rotated(), revocation=recorded)
    assert trust.revocation == recorded
    assert Trust.parse(trust.render(), where="Secret") == trust


def test_only_signing_authorities_keep_their_keys() -> None:
    assert rotated().pairs.keys() == {name(SECOND), name(THIRD)}
    assert rotated().render()[STATE].count(b"PRIVATE KEY") == 4


def test_the_bundle_contains_no_key() -> None:
    bundle = rotated().render()[CA_BUNDLE]

    assert read_certificates(bundle) == (FIRST.leaf, SECOND.leaf, THIRD.leaf)
    assert b"PRIVATE" not in bundle


def test_a_leaving_authority_is_not_trusted() -> None:
    trust = rotated().advance(step(RotationAction.DROP, FIRST), NOW)

    assert trust.trusted == (SECOND.leaf, THIRD.leaf)
    assert name(FIRST) in trust.certificates


def test_a_forgotten_authority_leaves_no_certificate() -> None:
    trust = rotated().advance(step(RotationAction.FORGET, FIRST), NOW)

    assert name(FIRST) not in trust.certificates


def test_foreign_certificates_are_stored_in_a_list_that_an_earlier_release_ignores() -> None:
    other = client_pair(FIRST, "stranger").leaf
    trust = rotated().add_foreign([leaf(FIRST).leaf, other], NOW + DAY)
    trust = trust.advance(step(RotationAction.DROP, FIRST), NOW)

    assert Trust.parse(trust.render(), where="Secret") == trust
    state = json.loads(trust.render()[STATE])
    assert [len(state[key]) for key in ("authorities", "foreign")] == [3, 2]
    assert trust.trusted == (SECOND.leaf, THIRD.leaf)
    assert fingerprint(other) not in signing(trust.authorities)


def test_a_foreign_authority_is_as_old_as_it_is_if_we_created_it() -> None:
    stranger = client_pair(FIRST, "stranger")
    trust = Trust().add_foreign([FIRST.leaf, stranger.leaf], NOW + DAY)

    assert {authority.name: authority.validity.start for authority in trust.authorities} == {
        name(FIRST): NOW,
        name(stranger): NOW + DAY,
    }
    assert {authority.foreign for authority in trust.authorities} == {NOW + DAY}


def test_a_foreign_authority_of_the_far_future_is_as_old_as_it_is_known() -> None:
    last = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    far = authority(last, timedelta(0)).leaf
    (found,) = Trust().add_foreign([far], NOW).authorities

    assert found.validity == Validity(start=NOW, end=last)


def test_a_foreign_authority_that_leaves_is_read_back() -> None:
    trust = Trust().add_foreign([FIRST.leaf], NOW).advance(step(RotationAction.DROP, FIRST), NOW)

    assert Trust.parse(trust.render(), where="Secret") == trust


def test_the_validity_of_a_certificate_begins_at_its_creation() -> None:
    lifetime = validity(leaf(FIRST, lifetime=timedelta(seconds=10)).leaf)

    assert (lifetime.start, lifetime.end) == (NOW, NOW + timedelta(seconds=10))


def test_the_newest_promoted_authority_signs() -> None:
    assert signing(rotated().authorities) == {name(SECOND), name(THIRD)}


def spoilt(**changes: Any) -> bytes:
    state = json.loads(rotated().render()[STATE])
    state["authorities"][1].update(changes)
    return json.dumps(state).encode()


def without(key: str) -> bytes:
    state = json.loads(rotated().render()[STATE])
    del state["authorities"][1][key]
    return json.dumps(state).encode()


SPOILT = {
    "no JSON": b"{",
    "another JSON": b"[]",
    "a revocation that is no object": b'{"version": 1, "authorities": [], "revocation": 7}',
    "a revocation without a time": b'{"version": 1, "authorities": [], "revocation": {"at": ""}}',
    "no list": b'{"version": 1, "authorities": 7}',
    "no version": b'{"authorities": []}',
    "a version that is no number": b'{"version": "1", "authorities": []}',
    "no text": b"\xff\xfe",
    "deep nesting": b"[" * 100_000,
    "no certificate": without("certificate"),
    "no time": without("published"),
    "a broken certificate": spoilt(certificate="-----BEGIN CERTIFICATE-----"),
    "a certificate that is a number": spoilt(certificate=7),
    "a broken key": spoilt(key="-----BEGIN PRIVATE KEY-----"),
    "the key of another authority": spoilt(key=FIRST.key_pem().decode()),
    "no key where one is needed": spoilt(key=None),
    "a time that is none": spoilt(published="yesterday"),
    "an authority that is listed twice": json.dumps(
        json.loads(rotated().render()[STATE])
        | {"authorities": 2 * json.loads(rotated().render()[STATE])["authorities"]}
    ).encode(),
    "a time without an offset": spoilt(promoted="2030-01-01T00:00:00"),
}


@pytest.mark.parametrize("state", SPOILT.values(), ids=SPOILT)
def test_inconsistent_contents_are_refused(state: bytes) -> None:
    with pytest.raises(PairError, match="Secret ns/ca: ") as caught:
        Trust.parse({STATE: state}, where="Secret ns/ca")

    assert "PRIVATE" not in f"{caught.value!r}"


def test_contents_of_a_later_release_are_refused() -> None:
    with pytest.raises(StoreError, match="written by a later release"):
        Trust.parse({STATE: b'{"version": 2}'}, where="Secret")
