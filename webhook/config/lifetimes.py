"""Lifetimes of test certificates, such as ``leaf=10s,ca=1h``, and the overlap of two CAs."""

from datetime import timedelta

from webhook.config.durations import parse_duration
from webhook.config.messages import refusal, suggest_word

CA_OVERLAP = timedelta(minutes=10)
"""How long an old CA stays trusted beside a new one: longer than replicas need to load it."""

LEAST_CA_OVERLAP = timedelta(seconds=60)
"""With a shorter overlap, calls of an API server that has not yet loaded the new CA would fail."""

LEAST_TEST_OVERLAP = timedelta(seconds=1)
"""With ``--test-lifetimes``: one second, the resolution of X.509 and API server timestamps."""

CERTIFICATE_TYPES = ("leaf", "ca")
"""Certificates with a configurable lifetime: the server certificate and its CA."""


def parse_lifetimes(text: str) -> dict[str, timedelta]:
    """
    Parse the lifetimes of test certificates, such as ``leaf=10s,ca=1h``.

    Returns:
        Lifetimes by certificate type; empty for an empty text.

    Raises:
        RefusalError: A certificate type or a duration is invalid.
    """
    return dict(map(_parse_lifetime, text.split(","))) if text else {}


def _parse_lifetime(item: str) -> tuple[str, timedelta]:
    name, _, written = item.strip().partition("=")
    if name not in CERTIFICATE_TYPES:
        known = suggest_word(name, CERTIFICATE_TYPES)
        raise refusal(f"{name!r} is no certificate: {known}, as in leaf=10s,ca=1h")
    lifetime = parse_duration(written)
    if not lifetime:
        raise refusal(f"{name} cannot last {written!r}: write a duration, as in {name}=1h")
    return name, lifetime
