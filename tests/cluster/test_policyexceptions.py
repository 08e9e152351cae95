from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import NAMESPACE, selector
from webhook.cluster.policyexceptions import (
    PolicyExceptionStore,
    decode_exception,
    end_of_time,
    find_unknown_keys,
)
from webhook.cluster.quota import OBJECT_BYTES, NamespaceQuota, NamespaceSizeError
from webhook.policy.policyexceptions import MOST_EXCEPTIONS, PolicyException

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
    "an unknown rule": (
        {"rules": ["TSC101", "TSC999"]},
        r'"TSC999" is no policy rule: write some of TSC101.* - at `\$.spec.rules\[1\]`',
    ),
    "a rule of the API": ({"rules": ["TSC001"]}, '"TSC001" is no policy rule'),
    "a rule with line breaks": ({"rules": ["a\n\x1b[2J"]}, r'^"a[\\nx1b\[2J]+" is no policy rule'),
    "a rule of much text": ({"rules": ["x" * 10_000]}, r'^"x{1,200}[^x]* is no policy rule'),
    "many rules": ({"rules": ["TSC101"] * 33}, "length <= 32"),
    "nothing": ({"rules": []}, "exempts from nothing: write rules, or defaults: true"),
    "no reason": ({"reason": ""}, "must say why: write a reason"),
    "a blank reason": ({"reason": " \n"}, "must say why: write a reason"),
    "a long reason": ({"reason": "x" * 201}, "length <= 200"),
    "a day": ({"expires": "2027-01-31"}, "Invalid RFC3339"),
    "a time without a zone": ({"expires": "2027-01-31T00:00:00"}, "timezone"),
    "an unknown operator": (
        {"selector": {"matchExpressions": [{"key": "app", "operator": "Is"}]}},
        r'"Is": not a valid selector operator - at `\$.*.matchExpressions\[0\].operator`',
    ),
    "an invalid value of a label": (
        {"selector": {"matchLabels": {"app": "x" * 9999}}},
        r'^Invalid value: "x{1,300}\.\.\.": must be no more than 63 bytes',
    ),
    "a list": ({"rules": "TSC101"}, "Expected `array`"),
}


@pytest.mark.parametrize(("spec", "message"), INVALID.values(), ids=INVALID.keys())
def test_an_invalid_exception_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=message):
        decode_exception(written(**spec))


def test_an_exception_of_another_version_is_refused() -> None:
    text = written().replace(b"v1alpha1", b"v2")

    with pytest.raises(msgspec.ValidationError, match=r'"evenspread.io/v2": write evenspread'):
        decode_exception(text)


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


def filled(store: PolicyExceptionStore, number: int) -> None:
    for index in reversed(range(number)):
        store.put(decode_exception(written(f"{index:03}")))


def test_of_too_many_exceptions_the_first_by_name_count() -> None:
    store = PolicyExceptionStore()
    filled(store, MOST_EXCEPTIONS)

    with pytest.raises(NamespaceSizeError, match="more than 100 SpreadPolicyExceptions: only the"):
        store.put(decode_exception(written("0")))
    store.put(decode_exception(written("a", "other")))

    assert names(store) == ["0", *(f"{index:03}" for index in range(MOST_EXCEPTIONS - 1))]
    assert names(store, "other") == ["a"]
    store.remove(NAMESPACE, "0")
    assert names(store)[-1] == "099"


def test_a_namespace_has_a_quota() -> None:
    size = OBJECT_BYTES + 2 * len("one zone by contract")
    store = PolicyExceptionStore(quota=NamespaceQuota(2 * size))
    filled(store, 2)

    for name in ("001", "002"):
        with pytest.raises(NamespaceSizeError, match="its namespace takes more than 0 MiB"):
            store.put(decode_exception(written(name, reason="another that is longer")))

    assert {one.reason for one in store.in_force(NAMESPACE)} == {"one zone by contract"}
    for name in ("000", "001"):
        store.remove(NAMESPACE, name)
    filled(store, 2)
    assert names(store) == ["000", "001"]


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef"), st.sampled_from("xy"))))
def test_the_store_holds_what_was_put_and_not_removed(changes: list[tuple[bool, str, str]]) -> None:
    store, expected = PolicyExceptionStore(), dict[str, set[str]]()
    for added, name, namespace in changes:
        if added:
            store.put(decode_exception(written(name, namespace)))
            expected.setdefault(namespace, set()).add(name)
        else:
            store.remove(namespace, name)
            expected.get(namespace, set()).discard(name)

    for namespace in "xy":
        assert names(store, namespace) == sorted(expected.get(namespace, ()))
    assert len(store) == sum(map(len, expected.values()))


def test_keys_that_no_version_has_are_found() -> None:
    value = msgspec.json.decode(
        written(rule=["TSC101"], expires=None, selector={"matchLabel": {"app": "web"}})
    )

    found = {path: problem for problem, path in find_unknown_keys({**value, "reasons": "a"})}

    assert found == {
        ("reasons",): "no such key: write apiVersion, kind, metadata, spec or status",
        ("spec", "rule"): "no such key: did you mean rules?",
        ("spec", "selector", "matchLabel"): "no such key: did you mean matchLabels?",
    }


@pytest.mark.parametrize("spec", [None, [], {}, {"selector": None}, {"selector": []}])
def test_keys_of_what_is_no_mapping_are_left_to_the_types(spec: Any) -> None:
    assert list(find_unknown_keys({"spec": spec})) == []
