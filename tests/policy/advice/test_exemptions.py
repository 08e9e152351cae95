import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.advice.exemptions import (
    EXEMPT_ANNOTATION,
    FIELD,
    MOST_EXEMPTIONS,
    REASON_CHARACTERS,
    parse_exemptions,
)
from webhook.policy.catalogue import (
    CATALOGUE,
    DEFAULT_ACTIONS,
    REFUSED_EXEMPTION,
    STRICT_RULES,
)

LOCKED = frozenset({"TSC104"})
EXEMPTIBLE = [*STRICT_RULES, *DEFAULT_ACTIONS]
UNKNOWN = f"is no exemptible rule: write one of {', '.join(EXEMPTIBLE)}"

# annotation, reasons, what is refused and why
CASES: dict[str, tuple[str, dict[str, str], list[tuple[str, str]]]] = {
    "one": ("TSC101=a reason", {"TSC101": "a reason"}, []),
    "two": (
        "TSC101=a reason, TSC110=another",
        {"TSC101": "a reason", "TSC110": "another"},
        [],
    ),
    "a reason with an equals sign": ("TSC101=a=b", {"TSC101": "a=b"}, []),
    "spaces and commas around": (" , TSC101 = a reason ,", {"TSC101": "a reason"}, []),
    "nothing": ("", {}, []),
    "no reason": ("TSC101", {}, [("TSC101", "has no reason: write TSC101=REASON")]),
    "an empty reason": ("TSC101= ", {}, [("TSC101", "has no reason: write TSC101=REASON")]),
    "no reason beside another": (
        "TSC110=fine, TSC101",
        {"TSC110": "fine"},
        [("TSC101", "has no reason: write TSC101=REASON")],
    ),
    "a comma in a reason": (
        "TSC101=by hand, as agreed",
        {"TSC101": "by hand"},
        [("as agreed", UNKNOWN)],
    ),
    "a rule of the API": (
        "TSC001=why not",
        {},
        [("TSC001", UNKNOWN)],
    ),
    "a rule twice": (
        "TSC101=a, TSC101=b",
        {"TSC101": "a"},
        [("TSC101", "is exempted from twice: leave one out")],
    ),
    "a rule that is not exemptible": (
        "TSC104=please",
        {},
        [("TSC104", "cannot be exempted from: the configuration forbids it")],
    ),
    "a reason that is too long": (
        f"TSC101={'x' * (REASON_CHARACTERS + 1)}",
        {},
        [("TSC101", "has a reason of more than 200 characters: write a shorter one")],
    ),
}


@pytest.mark.parametrize(("text", "reasons", "refused"), CASES.values(), ids=CASES.keys())
def test_exemptions(text: str, reasons: dict[str, str], refused: list[tuple[str, str]]) -> None:
    read = parse_exemptions({EXEMPT_ANNOTATION: text}, LOCKED)

    assert read.reasons == reasons
    assert [finding.problem for finding in read.refused] == [
        f'"{rule}" {why}' for rule, why in refused
    ]


@pytest.mark.parametrize("rule", STRICT_RULES)
def test_rules_of_strict_decoding_are_exemptible(rule: str) -> None:
    assert parse_exemptions({EXEMPT_ANNOTATION: f"{rule}=newer"}, LOCKED) == ({rule: "newer"}, ())


def test_without_the_annotation_there_is_no_exemption() -> None:
    assert parse_exemptions({}, LOCKED) == ({}, ())


@pytest.mark.parametrize("rule", [*CATALOGUE, "TSC999"])
def test_a_refused_exemption_is_a_finding_about_the_annotation(rule: str) -> None:
    """No remedy, exemption or action of the rule that it names applies to it."""
    (found,) = parse_exemptions({EXEMPT_ANNOTATION: rule}, LOCKED).refused

    assert (found.rule, found.field) == (REFUSED_EXEMPTION, FIELD)


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("TSC101=other team, TSC110", 'evenspread.io/exempt: "TSC110=REASON"'),
        ("TSC102=x", "# remove TSC102 from the annotation"),
        ("TSC101=x, TSC101=y", "# remove TSC101 from the annotation"),
        ("nonsense=x", 'evenspread.io/exempt: "RULE=REASON"'),
    ],
)
def test_a_refused_exemption_says_what_to_write(text: str, instead: str) -> None:
    parsed = parse_exemptions({EXEMPT_ANNOTATION: text}, frozenset({"TSC102"}))

    assert [finding.instead for finding in parsed.refused] == [instead]


@given(st.text() | st.lists(st.sampled_from([*EXEMPTIBLE, "=", ",", "x", " "])).map("".join))
def test_any_annotation_can_be_read(text: str) -> None:
    read = parse_exemptions({EXEMPT_ANNOTATION: text}, LOCKED)

    assert read.reasons.keys() <= set(EXEMPTIBLE) - LOCKED
    assert all(reason == reason.strip() != "" for reason in read.reasons.values())
    assert len(read.reasons) + len(read.refused) <= MOST_EXEMPTIONS
