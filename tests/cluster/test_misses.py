from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster.misses import MISS_S, MISSES, NAMESPACE_MISSES, Misses


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_miss_is_remembered_for_some_seconds() -> None:
    clock = Clock()
    misses = Misses(clock)

    assert misses.admit("shop", "/a")
    misses.record("shop", "/a")
    clock.now = MISS_S - 0.1
    assert not misses.admit("shop", "/a")
    assert misses.admit("zoo", "/a")
    clock.now = MISS_S
    assert misses.admit("shop", "/a")


steps_of_lookups = st.tuples(
    st.floats(0, MISS_S), st.integers(0, 15).map(str), st.integers(0, 60).map(str)
)


@given(st.lists(steps_of_lookups, max_size=300), st.integers(1, 4))
def test_neither_a_namespace_nor_all_together_have_more_misses_than_the_limit(
    steps: list[tuple[float, str, str]], repeated: int
) -> None:
    clock, recorded = Clock(), list[tuple[float, str, str]]()
    misses = Misses(clock)
    for wait, namespace, name in steps * repeated:
        clock.now += wait / 500
        recent = [(space, known) for time, space, known in recorded if clock.now - time < MISS_S]
        own = [known for space, known in recent if space == namespace]
        allowed = name not in own and len(own) < NAMESPACE_MISSES and len(recent) < MISSES

        assert misses.admit(namespace, name) is allowed
        if allowed:
            misses.record(namespace, name)
            recorded.append((clock.now, namespace, name))
