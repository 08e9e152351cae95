from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.placement.sharedvalues import SharedValues

Sets = SharedValues[str, set[int]]


def sets() -> Sets:
    return Sets(set, set.copy)


def test_a_new_key_has_a_new_value() -> None:
    values = sets()

    values.change("a").add(1)
    values.change("a").add(2)

    assert values.known == {"a": {1, 2}}


def test_a_value_is_copied_when_it_is_first_changed_after_a_copy() -> None:
    values = sets()
    values.change("a").add(1)
    values.change("b").add(1)

    twin = values.copy()
    twin.change("a").add(2)

    assert (values.known, twin.known) == ({"a": {1}, "b": {1}}, {"a": {1, 2}, "b": {1}})
    assert twin.known["b"] is values.known["b"]


def test_the_original_changes_on_its_own_too() -> None:
    values = sets()
    values.change("a").add(1)

    twin = values.copy()
    values.change("a").add(2)

    assert (values.known, twin.known) == ({"a": {1, 2}}, {"a": {1}})


# which of the mappings is copied, and whether the copy or the changed one is meant
steps = st.lists(
    st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from("ab"), st.integers(0, 9)),
    max_size=12,
)


@given(steps)
def test_copies_are_as_those_that_copy_all(
    drawn: list[tuple[int, bool, str, int]],
) -> None:
    lazy, eager = [sets()], [dict[str, set[int]]()]
    for at, copies, key, number in drawn:
        index = at % len(lazy)
        if copies:
            lazy.append(lazy[index].copy())
            eager.append({name: set(found) for name, found in eager[index].items()})
        else:
            lazy[index].change(key).add(number)
            eager[index].setdefault(key, set()).add(number)

    assert [dict(one.known) for one in lazy] == eager
