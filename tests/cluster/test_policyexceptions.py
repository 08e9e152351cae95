from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.build import NAMESPACE, selector
from webhook.cluster.policyexceptions import (
    PolicyExceptionStore,
    decode_exception,
    end_of_time,
)
from webhook.policy.policyexceptions import PolicyException

END = datetime(2027, 1, 31, tzinfo=UTC)


def written(name: str = "legacy", namespace: str = NAMESPACE, **spec: Any) -> bytes:
    """Write an exception from TSC110."""
    value = {
        "apiVersion": "evenspread.io/v1alpha1",
        "kind": "SpreadPolicyException",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"rules": ["TSC110"], "reason": "one zone by contract", **spec},
    }
    return msgspec.json.encode(value)


def test_every_field_is_decoded() -> None:
    text = written(
        rules=["TSC101", "TSC110"],
        defaults=True,
        selector={"matchLabels": {"app": "web"}},
        expires="2027-01-31T00:00:00Z",
    )

    assert decode_exception(text) == PolicyException(
        namespace=NAMESPACE,
        name="legacy",
        reason="one zone by contract",
        rules=("TSC101", "TSC110"),
        defaults=True,
        selector=selector(app="web"),
        expires=END,
    )


def test_without_a_selector_all_pods_of_the_namespace_are_selected() -> None:
    assert decode_exception(written(selector=None)).selector == selector()


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown rule": ({"rules": ["TSC999"]}, "'TSC999' is no policy rule: write some of TSC101"),
    "a rule of the API": ({"rules": ["TSC001"]}, "'TSC001' is no policy rule"),
    "nothing": ({"rules": []}, "exempts from nothing: write rules, or defaults: true"),
    "no reason": ({"reason": ""}, "length >= 1"),
    "a long reason": ({"reason": "x" * 201}, "length <= 200"),
    "a day": ({"expires": "2027-01-31"}, "Invalid RFC3339"),
    "a time without a zone": ({"expires": "2027-01-31T00:00:00"}, "timezone"),
    "a list": ({"rules": "TSC101"}, "Expected `array`"),
}


@pytest.mark.parametrize(("spec", "message"), INVALID.values(), ids=INVALID.keys())
def test_an_invalid_exception_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=message):
        decode_exception(written(**spec))


def names(store: PolicyExceptionStore, namespace: str = NAMESPACE) -> list[str]:
    return [exception.name for exception in store.in_force(namespace)]


def test_the_exceptions_of_a_namespace_are_listed_by_name() -> None:
    store = PolicyExceptionStore()
    for text in (written("b"), written("a"), written("c", "other"), written("b", reason="new")):
        store.put(decode_exception(text))

    assert names(store) == ["a", "b"]
    assert [exception.reason for exception in store.in_force(NAMESPACE)][1] == "new"
    assert (names(store, "nowhere"), len(store)) == ([], 3)


def test_a_removed_exception_is_forgotten() -> None:
    store = PolicyExceptionStore()
    for name in ("a", "b"):
        store.put(decode_exception(written(name)))

    store.remove(NAMESPACE, "a")
    store.remove(NAMESPACE, "a")
    store.remove("nowhere", "a")
    assert names(store) == ["b"]
    store.remove(NAMESPACE, "b")
    assert (names(store), list(store.iterate_keys())) == ([], [])


def test_expired_exceptions_are_not_in_force() -> None:
    now = [datetime(2027, 1, 30, tzinfo=UTC)]
    store = PolicyExceptionStore(lambda: now[0])
    store.put(decode_exception(written("ends", expires="2027-01-31T00:00:00Z")))
    store.put(decode_exception(written("stays")))

    assert names(store) == ["ends", "stays"]
    now[0] = END
    assert names(store) == ["stays"]


def test_without_a_clock_only_exceptions_without_an_end_are_in_force() -> None:
    store = PolicyExceptionStore()
    store.put(decode_exception(written("ends", expires="9998-01-01T00:00:00Z")))
    store.put(decode_exception(written("stays")))

    assert names(store) == ["stays"]
    assert end_of_time().tzinfo is UTC
