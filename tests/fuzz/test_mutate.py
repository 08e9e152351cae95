"""Changes of inputs."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutate import mutate

VALUE = {"kind": "Pod", "spec": {"a": [1, {"b": None}]}}


@given(st.integers(0, 10_000))
def test_json_stays_json(seed: int) -> None:
    changed = mutate(json.dumps(VALUE).encode(), 10_000, seed)

    assert changed is None or json.loads(changed) is not ...


def test_a_change_depends_on_its_seed_alone() -> None:
    data = json.dumps(VALUE).encode()
    changes = {mutate(data, 10_000, seed) for seed in range(50)}

    assert len(changes) > 20
    assert changes == {mutate(data, 10_000, seed) for seed in range(50)}


@given(st.binary(max_size=200), st.integers(0, 10_000))
def test_anything_can_be_changed(data: bytes, seed: int) -> None:
    changed = mutate(data, 300, seed)

    assert changed is None or len(changed) <= 300
