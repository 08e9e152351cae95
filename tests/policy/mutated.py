"""What the mutating hook makes of an object."""

import json
from typing import Any

import jsonpatch
import msgspec

from tests.build import Json, request, spread
from tests.policy.situations import DEFAULTS, WEB
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.request import Hook
from webhook.policy.verdict import Verdict, judge

BAD = spread(maxSkew=0)


def mutate(obj: Json, in_force: Policy = DEFAULTS, known: Any = WEB, **changes: Any) -> Verdict:
    return judge(request(obj, **changes), Hook.MUTATE, in_force, known)


def applied(obj: Json, verdict: Verdict) -> Json:
    """The object after the patch, as an independent library applies it."""
    steps = json.loads(msgspec.json.encode(verdict.patch))
    patched: Json = jsonpatch.JsonPatch(steps).apply(obj)
    return patched


def listed(obj: Json) -> list[Any]:
    return (obj.get("spec") or {}).get("topologySpreadConstraints") or []
