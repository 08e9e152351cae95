"""The constraints of a PodGroup that has none."""

from webhook.policy.advice.podgroups import PodGroup


def test_a_group_without_constraints_and_policy_is_a_gang_that_may_run_anywhere() -> None:
    group = PodGroup(namespace="shop", name="workers")

    assert (group.keys, group.gang) == ((), True)
