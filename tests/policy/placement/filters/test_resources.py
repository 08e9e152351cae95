from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.placement.filters.resources import NO_RESOURCES, Resources

amounts = st.integers(0, 9)
resources = st.builds(
    Resources,
    milli_cpu=amounts,
    memory=amounts,
    ephemeral_storage=amounts,
    scalars=st.dictionaries(st.sampled_from(("gpu", "fpga")), amounts),
)


def test_resources_are_added_some_times() -> None:
    one = Resources(1, 2, 3, 10, {"gpu": 1})

    assert one.plus(Resources(10, 20, 30, 5, {"gpu": 2, "fpga": 3}), 2) == Resources(
        21, 42, 63, 10, {"gpu": 5, "fpga": 6}
    )


def test_amounts_are_those_of_all_resources_but_pods() -> None:
    amounts = Resources(1, 2, 3, 10, {"gpu": 1, "fpga": 3}).amounts

    assert list(amounts.items()) == [
        ("cpu", 1), ("memory", 2), ("ephemeral-storage", 3), ("fpga", 3), ("gpu", 1)
    ]  # fmt: skip


@given(resources, resources)
def test_what_is_added_can_be_subtracted(one: Resources, other: Resources) -> None:
    back = one.plus(other).plus(other, -1)

    assert back.plus(NO_RESOURCES) == back
    assert (back.milli_cpu, back.memory, back.ephemeral_storage) == (
        one.milli_cpu, one.memory, one.ephemeral_storage
    )  # fmt: skip
    assert {name: number for name, number in back.scalars.items() if number} == {
        name: number for name, number in one.scalars.items() if number
    }
