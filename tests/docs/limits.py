"""The limits of the server as rows of the reference."""

from collections.abc import Iterator
from dataclasses import fields
from typing import NamedTuple

from webhook.policy.model import MAX_CONSTRAINTS
from webhook.server.http.limits import Limits


class LimitRow(NamedTuple):
    """One limit in the reference."""

    name: str
    value: float
    unit: str
    reason: str


def limit_rows() -> Iterator[LimitRow]:
    """List all limits, and the one that the policy enforces."""
    limits = Limits()
    for limit in fields(limits):
        yield LimitRow(limit.name, getattr(limits, limit.name), **limit.metadata)
    reason = "longer lists are denied with their number; no scheduler could process them"
    yield LimitRow("constraints", MAX_CONSTRAINTS, "constraints in one list", reason)
