"""
Probes: pods that are only tried, by which somebody learns that a server is reached.

A probe is answered with a warning that names the replica, and with nothing else. Only a dry run
can be one: the label of a pod that is really made changes nothing, or it would be a way around
every rule. Any other object with a pod template can be one too: the right to create PodTemplates
is no power, that to create pods is.
"""

import msgspec

from webhook.policy.nesting import decode_nested
from webhook.policy.request import CREATE, AdmissionRequest, Hook
from webhook.policy.verdict import UNTOUCHED, Verdict, brief

LABEL = "evenspread.io/probe"

ANY = "true"
"""The value that both webhooks answer; with the name of a hook as its value, that one alone does.

An API server passes the same warning on only once, so by ``true`` nobody can tell who gave it.
"""


class _Request(msgspec.Struct, frozen=True, rename="camel", gc=False):
    dry_run: bool | None = None


class _Review(msgspec.Struct, frozen=True, gc=False):
    request: _Request | None = None


_decode = msgspec.json.Decoder(_Review).decode


def presence(version: str, replica: str) -> Verdict:
    """The verdict on every probe: who answered it."""
    said = brief(f"evenspread {version} {replica} answered")
    return Verdict(warnings=(said,), recurs=True)


def answer(request: AdmissionRequest, hook: Hook, present: Verdict) -> Verdict | None:
    """
    Answer a probe.

    Every request passes here, and for nearly all this is one look at their labels.

    Args:
        request: What is asked.
        hook: Which of the two webhooks was called.
        present: What ``presence`` gave.

    Returns:
        None if the request is to be judged as any other.
    """
    metadata = request.metadata
    if metadata is None or LABEL not in metadata.labels:
        return None
    asked = metadata.labels[LABEL]
    if asked not in (ANY, *Hook) or request.operation != CREATE or not _is_tried(request.body):
        return None
    return present if asked in (ANY, hook) else UNTOUCHED


def _is_tried(body: bytes) -> bool:
    """Whether a review says that nothing will be stored."""
    try:
        review = decode_nested(_decode, body)
    except msgspec.DecodeError:
        return False
    return review.request is not None and review.request.dry_run is True
