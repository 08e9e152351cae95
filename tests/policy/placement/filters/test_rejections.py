from webhook.policy.placement.filters.rejections import FilterRejection


def test_the_removal_of_pods_can_resolve_a_rejection_unless_it_says_otherwise() -> None:
    assert FilterRejection("NodePorts", ("no port",)).is_resolvable
    assert not FilterRejection("NodeName", ("name",), is_resolvable=False).is_resolvable
