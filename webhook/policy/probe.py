"""
Probes: dry-run requests by which ``doctor`` learns whether the API server reaches a replica.

The reply to a probe is one warning that names the replica. Only a dry run is a probe: on a request
that is stored the label changes nothing, or it would bypass every rule. Every object with a pod
template can be a probe, so that the right to create PodTemplates suffices, which is harmless.
"""

from webhook.policy.escape import shorten_warning
from webhook.policy.request import CREATE, AdmissionRequest, Hook
from webhook.policy.verdict import UNTOUCHED, Verdict

LABEL = "evenspread.io/probe"

ANY = "true"
"""The label value to which both webhooks reply; the name of a hook selects that one alone.

The API server passes the same warning on only once, so ``true`` does not show which hook replied.
"""


def build_probe_verdict(version: str, replica: str) -> Verdict:
    """Build the verdict on every probe, a warning that names the replica."""
    warning = shorten_warning(f"evenspread {version} {replica} answered")
    return Verdict(warnings=(warning,), recurs=True)


def judge_probe(request: AdmissionRequest, hook: Hook, present: Verdict) -> Verdict | None:
    """
    Reply to a probe.

    Every request passes through here; nearly all cost one look at their labels.

    Returns:
        ``present``, from ``build_probe_verdict``; None if the request is no probe.
    """
    metadata = request.metadata
    if metadata is None or LABEL not in metadata.labels:
        return None
    value = metadata.labels[LABEL]
    if value not in (ANY, *Hook) or request.operation != CREATE or not request.dry_run:
        return None
    return present if value in (ANY, hook) else UNTOUCHED
