"""
Conformance cases of creates and updates: what kube-apiserver answers to an object.

Serves ``validation`` and ``gates``; a case without an ``operation`` is a create.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from tests.conformance.case import Answer, Case
from webhook.policy import render
from webhook.policy.api import fieldgates, gates, predict
from webhook.policy.api.fielderrors import aggregate
from webhook.policy.api.gates import Gates
from webhook.policy.api.predict import Request
from webhook.policy.api.versions import Version, parse_version
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind, PodTemplate, group_of
from webhook.policy.paths import TemplatePath
from webhook.policy.workloads import Workload

NEWEST_RECORDED = "1.36"  # what a case without a version was recorded from

OLDEST_EMULATED = Version(1, 30)
"""
First version whose cases were recorded from 1.36.3 with ``--emulated-version``; 1.29 is real.

An emulation has the gates of its version, and the checks of its program that depend on no gate.
"""

FILLED_IN = frozenset(
    {
        "concurrencyPolicy",
        "creationTimestamp",
        "dnsPolicy",
        "failedJobsHistoryLimit",
        "imagePullPolicy",
        "metadata",
        "persistentVolumeClaimRetentionPolicy",
        "podManagementPolicy",
        "progressDeadlineSeconds",
        "replicas",
        "resources",
        "restartPolicy",
        "revisionHistoryLimit",
        "schedulerName",
        "securityContext",
        "strategy",
        "successfulJobsHistoryLimit",
        "suspend",
        "terminationGracePeriodSeconds",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "updateStrategy",
    }
)
"""Members that the API server fills in where a client leaves them out, in any workload kind."""


def answer(case: Case) -> Answer:
    """
    Answer one case.

    Args:
        case: ``object``, and perhaps ``kubernetes``, ``featureGates``, ``operation``, ``old``.

    Returns:
        ``code``; with 422 ``causes`` and ``message``, else ``stored`` and ``warnings``.
    """
    kind = GroupKind(group_of(case["object"]["apiVersion"]), case["object"]["kind"])
    in_force = _gates(case)
    given = predict.predict_response(_request(case, kind, in_force), in_force)
    if given.findings:
        return _refusal(kind, case, given)
    accepted: Answer = {"code": 200 if _is_update(case) else 201}
    if given.stored:
        accepted["stored"] = [render.constraint(item) for item in given.stored]
    if given.warned:
        accepted["warnings"] = [caution.text for caution in given.warned]
    return accepted


def _gates(case: Case) -> Gates:
    """Return the gates of a case; those of OLDEST_EMULATED and later are emulated by 1.36.3."""
    version = parse_version(case.get("kubernetes", NEWEST_RECORDED))
    in_force = gates.resolve(version, case.get("featureGates") or {}, allow_locked=True)
    if version < OLDEST_EMULATED:
        return in_force
    return replace(in_force, version=max(version, parse_version(NEWEST_RECORDED)))


def _is_update(case: Case) -> bool:
    return bool(case.get("operation", "CREATE") == "UPDATE")


def _request(case: Case, kind: GroupKind, in_force: Gates) -> Request:
    path = BUILT_IN_TEMPLATES[kind]
    template = _template(case["object"], path)
    if not _is_update(case):
        return Request(kind=kind, path=path, template=template)
    old = _template(case["old"], path)
    kept = fieldgates.drop_disabled_fields(
        template.constraints, old.constraints, in_force
    ).constraints
    before = _specification(case["old"], path, [render.constraint(c) for c in old.constraints])
    after = _specification(case["object"], path, [render.constraint(c) for c in kept])
    return Request(
        kind=kind, path=path, template=template, old=old, changed=not _same(after, before)
    )


def _template(obj: dict[str, Any], path: TemplatePath) -> PodTemplate:
    return msgspec.convert(obj, Workload).pod_template(path) or PodTemplate()


def _specification(
    obj: dict[str, Any], path: TemplatePath, constraints: list[render.Rendered]
) -> dict[str, Any]:
    """The object's ``spec`` (of a PodTemplate its ``template``) with this constraint list in it."""
    copied: dict[str, Any] = {"obj": msgspec.json.decode(msgspec.json.encode(obj))}
    holder = copied["obj"]
    for member in (*path, "spec"):
        holder = holder[member]
    holder["topologySpreadConstraints"] = constraints
    return {"specification": copied["obj"][path[0] if path else "spec"]}


def _same(sent: Any, stored: Any) -> bool:
    """Whether the stored object has everything that the client sent; the server adds defaults."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        filled_in = stored.keys() - sent.keys()
        return filled_in <= FILLED_IN and all(
            member in stored and _same(value, stored[member]) for member, value in sent.items()
        )
    if isinstance(sent, list) and isinstance(stored, list):
        pairs = zip(sent, stored, strict=False)
        return len(sent) == len(stored) and all(_same(*pair) for pair in pairs)
    return bool(sent == stored)


def _refusal(kind: GroupKind, case: Case, given: predict.PredictedResponse) -> Answer:
    errors = [finding.error for finding in given.findings]
    name = case["object"].get("metadata", {}).get("name", "")
    return {
        "code": 422,
        "causes": [{"reason": e.reason, "message": e.message, "field": e.field} for e in errors],
        "message": f'{kind} "{name}" is invalid: {aggregate(errors)}',
    }
