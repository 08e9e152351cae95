from webhook.policy.catalogue import DEFAULT_ACTIONS, Action


def test_no_policy_rule_denies_unless_it_is_asked_to() -> None:
    assert Action.DENY not in DEFAULT_ACTIONS.values()
    assert len(DEFAULT_ACTIONS) == 15
