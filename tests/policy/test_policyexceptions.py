from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.build import NAMESPACE, requirement, selector
from webhook.policy.policyexceptions import (
    PolicyException,
    find_default_exception,
    find_exceptions,
)

END = datetime(2027, 1, 31, tzinfo=UTC)
WEB = {"app": "web"}


def exception(name: str = "a", *rules: str, **changes: Any) -> PolicyException:
    made: dict[str, Any] = {"namespace": NAMESPACE, "name": name, "reason": "old", "rules": rules}
    return PolicyException(**{**made, **changes})


@pytest.mark.parametrize(
    ("expires", "now", "expired"),
    [
        (None, datetime.max.replace(tzinfo=UTC), False),
        (END, END - timedelta(seconds=1), False),
        (END, END, True),
        (END, END + timedelta(days=1), True),
    ],
)
def test_an_exception_expires(expires: datetime | None, now: datetime, expired: bool) -> None:
    assert exception(expires=expires).is_expired(now) is expired


def test_an_exception_covers_the_pods_that_it_selects() -> None:
    assert exception().covers({})
    assert exception(selector=selector(app="web")).covers(WEB)
    assert not exception(selector=selector(requirement("app", "NotIn", "web"))).covers(WEB)


def test_the_first_exception_from_a_rule_counts() -> None:
    first = exception("a", "TSC101", "TSC102")
    second = exception("b", "TSC101", "TSC103")
    other = exception("c", "TSC110", selector=selector(app="api"))
    defaults = exception("d", defaults=True)

    found = find_exceptions([first, second, other, defaults], WEB, {"TSC102"})

    assert found == {"TSC101": first, "TSC103": second}


@pytest.mark.parametrize(
    ("changes", "exempt"),
    [
        ({"defaults": True}, True),
        ({"defaults": True, "selector": selector(app="api")}, False),
        ({"rules": ("TSC101",)}, False),
    ],
)
def test_pods_are_exempt_from_defaults(changes: dict[str, Any], exempt: bool) -> None:
    made = exception(**changes)

    assert find_default_exception([made], WEB) == (made if exempt else None)
    assert find_default_exception([], WEB) is None


def test_the_first_exception_from_defaults_counts() -> None:
    rules, first, second = (exception(name, defaults=name != "a") for name in "abc")

    assert find_default_exception([rules, first, second], WEB) == first
