import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.build import constraint, default
from webhook.policy import render
from webhook.policy.defaulting.provenance import (
    Provenance,
    digest,
    read_provenance,
    recognize_constraints,
)
from webhook.policy.model import HOSTNAME, Constraint

OURS, THEIRS = constraint(), constraint(topology_key=HOSTNAME)


def digest_of(value: Constraint) -> str:
    return digest(render.encode(render.constraint(value)))


def annotation(*values: Constraint) -> str:
    """The annotation that records these constraints."""
    written = Provenance("cluster", ("Service/web",), (), ",".join(map(digest_of, values)))
    return msgspec.json.encode(written).decode()


RECOGNISED: dict[str, tuple[str | None, tuple[Constraint, ...], list[int]]] = {
    "nothing without an annotation": (None, (OURS,), []),
    "nothing by an empty one": ("", (OURS,), []),
    "nothing in an empty list": (annotation(OURS), (), []),
    "ours among others": (annotation(OURS), (THEIRS, OURS), [1]),
    "ours in another order": (annotation(OURS, THEIRS), (THEIRS, OURS), [0, 1]),
    "nothing that was changed": (annotation(OURS), (constraint(max_skew=2),), []),
    "every copy": (annotation(OURS), (OURS, OURS), [0, 1]),
    "nothing by an empty hash": (annotation(), (OURS,), []),
}


@pytest.mark.parametrize(
    ("written", "constraints", "indexes"), RECOGNISED.values(), ids=RECOGNISED.keys()
)
def test_it_is_recognised(
    written: str | None, constraints: tuple[Constraint, ...], indexes: list[int]
) -> None:
    recognised = recognize_constraints(written, constraints)

    assert list(recognised) == indexes
    assert all(recognised[i] == digest_of(constraints[i]) for i in indexes)


FORGED = {
    "no JSON": "yes",
    "another value": '"0000"',
    "a member of the wrong type": '{"profile":"x","selectorFrom":[],"keys":[],"hash":1}',
    "a missing member": '{"hash":"0000"}',
    "a deep nest": "[" * 5000 + "]" * 5000,
    "a deep nest in another member": '{"x":' + "[" * 5000 + "]" * 5000 + "}",
    "a lone surrogate": "\ud800",
}


@pytest.mark.parametrize("written", FORGED.values(), ids=FORGED.keys())
def test_nothing_is_recognised_by(written: str) -> None:
    assert recognize_constraints(written, (OURS,)) == {}


@given(st.text(), strategies.any_lists)
def test_any_text_may_stand_there(written: str, constraints: tuple[Constraint, ...]) -> None:
    assert recognize_constraints(written, constraints) == {}


@given(strategies.any_lists, st.sets(st.integers(0, 3)))
def test_what_was_recorded_is_recognised(
    constraints: tuple[Constraint, ...], written: set[int]
) -> None:
    ours = [entry for i, entry in enumerate(constraints) if i in written]

    recognised = recognize_constraints(annotation(*ours), constraints)

    assert all(constraints[i] in ours for i in recognised)
    assert all(i in recognised for i, entry in enumerate(constraints) if entry in ours)


@given(strategies.any_constraints)
def test_a_digest_outlives_being_stored(value: Constraint) -> None:
    stored = msgspec.json.decode(render.encode(render.constraint(value)), type=Constraint)

    assert digest_of(stored) == digest_of(value)


def test_a_digest_is_eight_digits() -> None:
    assert digest(b"") == "00000000"
    assert digest_of(default()) != digest_of(default(max_skew=2))


def test_it_is_read() -> None:
    found = read_provenance(annotation(OURS))

    assert found == Provenance("cluster", ("Service/web",), (), digest_of(OURS))


@pytest.mark.parametrize("written", FORGED.values(), ids=FORGED.keys())
def test_a_forged_one_is_not_read(written: str) -> None:
    assert read_provenance(written) is None
