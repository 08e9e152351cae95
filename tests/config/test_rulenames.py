import pytest

from webhook.config.rulenames import describe_unknown, find_rules

# pattern, ids
PATTERNS: dict[str, tuple[str, list[str]]] = {
    "an id": ("TSC101", ["TSC101"]),
    "an id in lower case": (" tsc101 ", ["TSC101"]),
    "a pattern": ("tsc00[12]", ["TSC001", "TSC002"]),
    "the rule about exemptions": ("EXEMPT", ["exempt"]),
    "an unknown id": ("TSC999", []),
    "a part of an id": ("TSC1", []),
}


@pytest.mark.parametrize(("pattern", "ids"), PATTERNS.values(), ids=PATTERNS.keys())
def test_patterns_name_rules(pattern: str, ids: list[str]) -> None:
    assert find_rules(pattern) == ids


def test_a_pattern_chooses_among_known_rules() -> None:
    assert find_rules("*", ["a", "B"]) == ["a", "B"]


def test_unknown_names_are_described() -> None:
    assert describe_unknown("x", ["A", "B"]) == "'x' is not a rule: use some of A, B"
    assert describe_unknown("x*", ["A"]) == "'x*' matches no rule: use some of A"
