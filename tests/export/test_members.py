from webhook.export import members


def test_null_counts_as_absent() -> None:
    assert members.is_given("c", "maxSkew") == "(has(c.maxSkew) && c.maxSkew != null)"


def test_an_absent_member_has_a_default() -> None:
    assert members.member("c", "maxSkew", "0") == (
        "((has(c.maxSkew) && c.maxSkew != null) ? c.maxSkew : 0)"
    )


def test_members_of_selectors_are_those_of_the_constraint() -> None:
    assert "c.labelSelector.matchLabels" in members.SELECTED_PAIRS
    assert "e.operator" in members.EXPRESSION_OPERATOR
