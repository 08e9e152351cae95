"""
Certificate files, PEM and DER, and the Secret that replicas share.

The input has up to four parts with a line ``#### part`` between them: ``tls.crt``, ``tls.key``, the
state in the Secret, and its annotations. Expected: a ``CertError`` without the key, or a pair that
is written and read as itself, and a state for which the planner has a next step.
"""

import asyncio
import base64
import json
import re
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

from certs.errors import CertError, PairError, StoreError
from certs.files import read_authorities, read_pair
from certs.pem import (
    CertificatePair,
    alternative_names_of,
    describe_certificate,
    issued_by,
    read_certificates,
    read_der,
    read_key,
)
from certs.plan import next_step
from certs.rotate import nearest_time
from certs.secret import RotationRequest, SecretStore, StoredTrust
from certs.state import Leaf, RotationAction, RotationState, Validity
from certs.trust import STATE, Trust
from tests.fuzz.targets import expect
from webhook.cluster.protocol import Response

SEPARATOR = b"#### part\n"
NOW = datetime(2026, 6, 1, tzinfo=UTC)
FOLDER = Path("/tls")
MOST_STEPS = 50  # of a plan; each authority takes four at most

TOKENS = (
    SEPARATOR, b"-----BEGIN CERTIFICATE-----\n", b"-----END CERTIFICATE-----\n",
    b"-----BEGIN PRIVATE KEY-----\n", b"-----END PRIVATE KEY-----\n",
    b"-----BEGIN EC PRIVATE KEY-----\n", b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
    b"Proc-Type: 4,ENCRYPTED\n", b'{"version": 1, "authorities": [', b'"certificate": "',
    b'"key": null', b'"published": "2026-05-01T00:00:00+00:00"', b'"promoted": null',
    b'"leaving": true', b'"revocation": {"at": "2026-05-01T00:00:00Z", "ended": false}',
    b'"foreign": [', b'"since": "2026-05-01T00:00:00+00:00"',
    b'{"evenspread.io/revoke": "2026-05-01T00:00:00Z"}',
    b'{"evenspread.io/rotate-ca": "2026-05-01T00:00:00Z"}',
    b"0001-01-01T00:00:00+23:59", b"9999-12-31T23:59:59-23:59", b"\x30\x82",
    b"\x06\x03\x55\x04\x03", b"\x17\x0d", b"\x18\x0f", b"\x02\x01\x00", b"\xa0\x03\x02\x01\x02",
    b"\x00",
)  # fmt: skip

_secret_lines = re.compile(rb"[A-Za-z0-9+/=]{16,}").findall


def check(data: bytes) -> None:
    """Read files, a handshake's certificate, and a Secret."""
    parts = [*data.split(SEPARATOR), b"", b"", b""]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what cryptography reads, but dislikes
        _check_files(parts[0], parts[1])
        _check_der(parts[0])
        _check_secret(parts[2], parts[3])


def _check_files(certificates: bytes, key: bytes) -> None:
    files = {FOLDER / "tls.crt": certificates, FOLDER / "tls.key": key}
    try:
        pair = read_pair(FOLDER, files.__getitem__)
    except PairError as error:
        _check_silence(error, key)
        _check_single(certificates, key)
        return
    expect(read_authorities(FOLDER, pair) == pair.chain[1:], "an authority that no file holds")
    again = CertificatePair.parse(pair.certificate_pem(), pair.key_pem())
    expect(again.chain == pair.chain, "written and read, the chain differs")
    expect(again.key_pem() == pair.key_pem(), "written and read, the key differs")
    try:
        pair.check_time(NOW, where="/tls")
    except PairError as error:
        _check_silence(error, key)
    _check_chain(pair)


def _check_chain(pair: CertificatePair) -> None:
    for certificate in pair.chain:
        expect(describe_certificate(certificate), "a certificate without a description")
        issued_by(pair.leaf, certificate)
        try:
            alternative_names_of(certificate)
        except PairError as error:
            expect(str(error), "an error has no message")


def _check_single(certificates: bytes, key: bytes) -> None:
    try:
        for certificate in read_certificates(certificates):
            expect(describe_certificate(certificate), "a certificate without a description")
    except PairError as error:
        _check_silence(error, key)
    try:
        read_key(key)
    except PairError as error:
        _check_silence(error, key)


def _check_silence(error: CertError, key: bytes) -> None:
    text = str(error).encode(errors="surrogateescape")
    expect(text, "an error has no message")
    expect(not any(line in text for line in _secret_lines(key)), "an error repeats the key")


def _check_der(der: bytes) -> None:
    try:
        certificate = read_der(der, where="handshake")
    except PairError:
        return
    expect(describe_certificate(certificate), "a certificate without a description")


def _check_secret(state: bytes, annotations: bytes) -> None:
    try:
        notes = json.loads(annotations)
    except (ValueError, RecursionError):
        notes = None
    data = {STATE: base64.b64encode(state).decode()}
    secret = {"metadata": {"resourceVersion": "1", "annotations": notes}, "data": data}
    store = SecretStore(_Server(json.dumps(secret).encode()), "a", "b")
    try:
        stored = asyncio.run(store.load())
    except StoreError as error:
        _check_silence(error, state)
        return
    expect(not any(line in stored.problem.encode() for line in _secret_lines(state)), "repeated")
    trust = stored.trust
    written = trust.render()
    again = Trust.parse(written, where="Secret a/b")
    expect(again.authorities == trust.authorities, "written and read, the authorities differ")
    expect(again.render() == written, "written and read, the entries differ")
    _check_plan(stored)


class _Server:
    """An API server that has one Secret."""

    def __init__(self, body: bytes) -> None:
        self._response = Response(200, body, {"date": ("Mon, 01 Jun 2026 00:00:00 GMT",)})

    async def send(
        self, method: str, path: str, query: object, body: bytes, content_type: str
    ) -> Response:
        """Answer every request with the Secret."""
        del method, path, query, body, content_type
        return self._response


def _check_plan(stored: StoredTrust) -> None:
    """Take the steps that change only the Secret; a state that never settles is a finding."""
    trust = stored.trust
    for _ in range(MOST_STEPS):
        names = frozenset(authority.name for authority in trust.authorities)
        step = next_step(
            RotationState(
                authorities=trust.authorities,
                everywhere=names,
                anywhere=frozenset(a.name for a in trust.authorities if not a.leaving),
                leaf=_leaf_of(trust),
                now=NOW,
                server_now=nearest_time(NOW, stored.server_now),
                ca_requested=stored.requested.get(RotationRequest.CA),
                leaf_requested=stored.requested.get(RotationRequest.LEAF),
                revoke_requested=stored.requested.get(RotationRequest.REVOKE),
                recorded=trust.revocation,
            )
        )
        if step.action in (RotationAction.WAIT, RotationAction.ADD_CA, RotationAction.SIGN_LEAF):
            return
        trust = trust.advance(step, NOW)
    expect(False, f"the plan never settles: {step}")


def _leaf_of(trust: Trust) -> Leaf | None:
    promoted = [authority for authority in trust.authorities if authority.promoted]
    validity = Validity(start=NOW - timedelta(days=1), end=NOW + timedelta(days=6))
    return Leaf(issuer=promoted[-1].name, validity=validity) if promoted else None
