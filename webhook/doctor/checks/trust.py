"""Checks of certificates: whether the API server trusts the served one, and until when."""

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

OVERDUE_FRACTION = 4
"""A certificate is overdue in the last quarter of its lifetime; renewal is due at two thirds."""

LEAF_ENTRY = "tls.crt"


def check_ca_bundle(installation: Installation) -> Iterator[DoctorFinding]:
    """Every caBundle contains the authority that signed the served certificate."""
    authority = _read_authority(installation) if installation.mode == "self" else ()
    served, advice = installation.served, _describe_bundle_writer(installation)
    for _, webhook in installation.webhooks():
        subject = f"the caBundle of {webhook.name}"
        bundle = _read_certificates(decode_base64(webhook.client_config.ca_bundle))
        if not bundle:
            yield DoctorFinding(f"{subject} is empty", advice)
        elif authority and not any(certificate in bundle for certificate in authority):
            yield DoctorFinding(
                f"{subject} is from {name_of(bundle[-1])}, not from {name_of(authority[-1])} in "
                f"Secret {installation.namespace}/{installation.name}-ca",
                advice,
            )
        elif served and not any(item == served or issued_by(served, item) for item in bundle):
            yield DoctorFinding(
                f"{subject} does not verify the served certificate, which "
                f"{served.issuer.rfc4514_string()} signed",
                advice,
            )


def _describe_bundle_writer(installation: Installation) -> str:
    if installation.mode == "self":
        return (
            "a replica writes it within seconds; see why none does: kubectl "
            f"{installation.namespace_flag} logs deployment/{installation.name}; no other client "
            "may write it (GitOps: ignore the field)"
        )
    return (
        "in mode files the issuer of the certificate writes it: with cert-manager, set the "
        "annotation cert-manager.io/inject-ca-from on both webhook configurations"
    )


def check_certificates(installation: Installation) -> Iterator[DoctorFinding]:
    """No certificate has expired or is overdue for renewal."""
    rotate = f"{installation.namespace_flag} --name {installation.name}"
    now = installation.now
    if installation.mode == "self":
        if installation.authority.value is None:
            secret = f"Secret {installation.namespace}/{installation.name}-ca"
            yield DoctorFinding(f"{secret} does not exist", APPLY)
        # The newest certificate is last; earlier ones leave the bundle by themselves.
        for certificate in _read_authority(installation)[-1:]:
            advice = f"evenspread certs rotate --ca {rotate}"
            yield from _check_dates(certificate, "the authority", now, advice)
    if installation.serving.value is not None:
        mounted = _read_certificates(installation.serving.value.certificates(LEAF_ENTRY))
        for certificate in mounted[:1]:
            advice = "have its issuer renew it: kubectl get certificates, with cert-manager"
            subject = "the certificate in the mounted Secret"
            yield from _check_dates(certificate, subject, now, advice)
    if installation.served is not None:
        advice = f"evenspread certs rotate {rotate}"
        yield from _check_dates(installation.served, "the served certificate", now, advice)


def _check_dates(
    certificate: x509.Certificate, subject: str, now: datetime, advice: str
) -> Iterator[DoctorFinding]:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now >= end:
        yield DoctorFinding(f"{subject} expired at {end:%FT%TZ}", advice)
    elif now < start:
        yield DoctorFinding(f"{subject} is not valid before {start:%FT%TZ}", "compare the clocks")
    elif (end - now) * OVERDUE_FRACTION < end - start:
        yield DoctorFinding(
            f"{subject} expires at {end:%FT%TZ}, and its renewal is overdue", advice
        )


def _read_authority(installation: Installation) -> tuple[x509.Certificate, ...]:
    secret = installation.authority.value
    return _read_certificates(secret.certificates(CA_BUNDLE)) if secret else ()


def _read_certificates(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Read PEM certificates; empty if they are unreadable, as such a bundle trusts no server."""
    try:
        return read_certificates(pem)
    except PairError:
        return ()
