from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster.misses import MISS_S, NAMESPACE_MISSES, NAMESPACES, Misses


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_miss_is_remembered_for_some_seconds() -> None:
    clock = Clock()
    misses = Misses(clock)

    assert misses.admit("shop", "/a")
    clock.now = MISS_S - 0.1
    assert not misses.admit("shop", "/a")
    assert misses.admit("zoo", "/a")
    clock.now = MISS_S
    assert misses.admit("shop", "/a")


def test_an_object_that_exists_is_no_miss() -> None:
    misses = Misses(lambda: 0.0)
    misses.forget("shop", "/a")

    for _ in range(2 * NAMESPACE_MISSES):
        assert misses.admit("shop", "/a")
        misses.forget("shop", "/a")


def test_the_memory_for_namespaces_is_bounded() -> None:
    misses = Misses(lambda: 0.0)
    for number in range(NAMESPACES):
        misses.admit(f"n{number}", "/a")

    assert not misses.admit("n0", "/a")  # now the one with the latest lookup
    assert misses.admit("another", "/a")
    assert not misses.admit("n0", "/a")
    assert misses.admit("n1", "/a")


lookups = st.tuples(st.floats(0, MISS_S), st.sampled_from("ab"), st.integers(0, 60))


@given(st.lists(lookups, max_size=300))
def test_a_namespace_never_has_more_misses_than_the_limit(
    steps: list[tuple[float, str, int]],
) -> None:
    clock, admitted = Clock(), list[tuple[float, str, int]]()
    misses = Misses(clock)
    for wait, namespace, number in steps:
        clock.now += wait / 50
        recent = [(space, known) for time, space, known in admitted if clock.now - time < MISS_S]
        allowed = (namespace, number) not in recent and sum(
            space == namespace for space, _ in recent
        ) < NAMESPACE_MISSES

        assert misses.admit(namespace, f"/{number}") is allowed
        if allowed:
            admitted.append((clock.now, namespace, number))
