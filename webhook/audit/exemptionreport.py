"""
Exemptions in reports: where they are written, and the exceptions of the audited namespaces.

``report_exceptions`` is the entry point. Expired exceptions are reported too: they have no effect,
and stay in the cluster until a user deletes them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from webhook.policy.policyexceptions import MOST_EXCEPTIONS, PolicyException

FROM_DEFAULTS = "defaults"
"""What an exception exempts from besides rules."""


class ExemptionSource(StrEnum):
    """Where an exemption is written."""

    ANNOTATION = "annotation"
    EXCEPTION = "exception"
    PROJECT = "project"


class ExceptionReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A SpreadPolicyException.

    Attributes:
        rules: Rules from which it exempts.
        defaults: Whether it exempts from what profiles change.
        reason: Why, as written.
        expires: When it ends, as RFC 3339 writes it; empty if it does not.
        is_expired: Whether it has ended, so that it has no effect.
        exempted: Number of findings that it exempts.
        is_ignored: Whether it has no effect, since its namespace has too many before it by name.
        forbidden: Those of its rules, and ``defaults``, from which none of the objects that it
            selects can be exempted, since the configuration or their profiles have
            ``exemptible: false``.
    """

    namespace: str
    name: str
    rules: tuple[str, ...]
    defaults: bool
    reason: str
    expires: str
    is_expired: bool = msgspec.field(name="expired")
    exempted: int
    is_ignored: bool = msgspec.field(name="ignored", default=False)
    forbidden: tuple[str, ...] = ()

    @property
    def scope(self) -> str:
        """What it exempts from, as ``TSC101, defaults``, and what it cannot exempt from."""
        return ", ".join(
            f"{one} (no effect: exemptible is false)" if one in self.forbidden else one
            for one in _list_scope(self.rules, defaults=self.defaults)
        )

    @property
    def term(self) -> str:
        """How long it is in force, or why it is not."""
        if self.is_ignored:
            return f"without effect, behind the first {MOST_EXCEPTIONS} of its namespace"
        if not self.expires:
            return "without end"
        return f"expired {self.expires}" if self.is_expired else f"until {self.expires}"


def _list_scope(rules: Sequence[str], *, defaults: bool) -> Sequence[str]:
    return (*rules, FROM_DEFAULTS) if defaults else rules


def _format_time(time: datetime) -> str:
    """Format an aware time as RFC 3339 and Kubernetes write it, in UTC."""
    try:
        time = time.astimezone(UTC)
    except OverflowError:  # before the year 1 or after 9999 in UTC: keep its own zone
        return time.isoformat()
    return time.isoformat().replace("+00:00", "Z")


def report_exceptions(
    exceptions: Iterable[PolicyException],
    exempted: Mapping[tuple[str, str], int],
    now: datetime,
    is_exemptible: Callable[[PolicyException, str], bool] = lambda _exception, _scope: True,
) -> tuple[ExceptionReport, ...]:
    """
    Report exceptions, sorted by namespace and name.

    Args:
        exempted: Namespace and name of an exception -> findings that it exempts.
        now: The time of the audit; aware.
        is_exemptible: Whether an exception can have an effect on one of its rules, or on
            ``FROM_DEFAULTS``.
    """
    numbers = Counter[str]()
    reports: list[ExceptionReport] = []
    for one in sorted(exceptions, key=lambda one: (one.namespace, one.name)):
        numbers[one.namespace] += 1
        report = ExceptionReport(
            namespace=one.namespace,
            name=one.name,
            rules=one.rules,
            defaults=one.defaults,
            reason=one.reason,
            expires=_format_time(one.expires) if one.expires else "",
            is_expired=one.is_expired(now),
            exempted=exempted.get((one.namespace, one.name), 0),
            is_ignored=numbers[one.namespace] > MOST_EXCEPTIONS,
            forbidden=tuple(
                scope
                for scope in _list_scope(one.rules, defaults=one.defaults)
                if not is_exemptible(one, scope)
            ),
        )
        reports.append(report)
    return tuple(reports)
