"""Whether the API server trusts what is served, now and for a while."""

from collections.abc import Iterator
from datetime import datetime

from cryptography import x509

from certs.errors import PairError
from certs.pem import issued_by, name_of, read_certificates
from certs.trust import CA_BUNDLE
from webhook.doctor.checks.registration import APPLY
from webhook.doctor.findings import DoctorFinding
from webhook.doctor.installation import Installation
from webhook.doctor.objects import decode_base64
from webhook.policy.request import Hook

OVERDUE = 4
"""A certificate is overdue in the last quarter of its life: it is renewed at two thirds of it."""

LEAF = "tls.crt"

Certificates = tuple[x509.Certificate, ...]


def ca_bundle(all_: Installation) -> Iterator[DoctorFinding]:
    """Every caBundle is there, and is of the authority whose certificates are served."""
    authority = _certificates(_data(all_, CA_BUNDLE)) if all_.mode == "self" else ()
    for hook in Hook:
        webhook = all_.webhook(hook)
        if webhook is None:
            continue
        bundle = _certificates(decode_base64(webhook.client_config.ca_bundle))
        if not bundle:
            yield DoctorFinding(f"the caBundle of {webhook.name} is empty", _write(all_))
        elif authority and not any(one in bundle for one in authority):
            yield DoctorFinding(
                f"the caBundle of {webhook.name} is of {name_of(bundle[-1])}, not of "
                f"{name_of(authority[-1])} in Secret {all_.namespace}/{all_.name}-ca",
                _write(all_),
            )
        elif all_.served and not any(
            one == all_.served or issued_by(all_.served, one) for one in bundle
        ):
            yield DoctorFinding(
                f"the caBundle of {webhook.name} does not lead to the served certificate, which "
                f"{all_.served.issuer.rfc4514_string()} signed",
                _write(all_),
            )


def _write(all_: Installation) -> str:
    if all_.mode == "self":
        return (
            "a replica writes it within seconds: see why none does, kubectl "
            f"{all_.place} logs deployment/{all_.name}; nothing else may write it (GitOps: ignore "
            "the field)"
        )
    return (
        "in mode files whoever issues the certificate writes it: with cert-manager, the annotation "
        "cert-manager.io/inject-ca-from on both webhook configurations"
    )


def certificates(all_: Installation) -> Iterator[DoctorFinding]:
    """No certificate has expired, or should have been renewed."""
    if all_.mode == "self":
        if all_.authority.value is None:
            yield DoctorFinding(f"Secret {all_.namespace}/{all_.name}-ca does not exist", APPLY)
        # The newest is last; those before it leave the bundle by themselves.
        for one in _certificates(_data(all_, CA_BUNDLE))[-1:]:
            rotate = f"evenspread certs rotate --ca {all_.place} --name {all_.name}"
            yield from _dated(one, "the authority", all_.now, rotate)
    if all_.serving.value is not None:
        pem = all_.serving.value.certificates(LEAF)
        for one in _certificates(pem)[:1]:
            renew = "have whoever issues it renew it: kubectl get certificates, with cert-manager"
            yield from _dated(one, "the certificate in the mounted Secret", all_.now, renew)
    if all_.served is not None:
        rotate = f"evenspread certs rotate {all_.place} --name {all_.name}"
        yield from _dated(all_.served, "the served certificate", all_.now, rotate)


def _dated(
    certificate: x509.Certificate, what: str, now: datetime, advice: str
) -> Iterator[DoctorFinding]:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now >= end:
        yield DoctorFinding(f"{what} expired at {end:%FT%TZ}", advice)
    elif now < start:
        yield DoctorFinding(f"{what} is valid only from {start:%FT%TZ} on", "compare the clocks")
    elif (end - now) * OVERDUE < end - start:
        yield DoctorFinding(f"{what} expires at {end:%FT%TZ}, and should have been renewed", advice)


def _data(all_: Installation, entry: str) -> bytes:
    secret = all_.authority.value
    return secret.certificates(entry) if secret else b""


def _certificates(pem: bytes) -> Certificates:
    """What can be read; a bundle that cannot trusts nobody."""
    try:
        return read_certificates(pem)
    except PairError:
        return ()
