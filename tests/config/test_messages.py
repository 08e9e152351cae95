import pytest

from webhook.config.messages import (
    RefusalError,
    find_repeated_names,
    format_place,
    format_value,
    refusal,
    refuse,
    suggest_choice,
    suggest_word,
)

# value, text
VALUES: dict[str, tuple[object, str]] = {
    "true": (True, "true"),
    "false": (False, "false"),
    "null": (None, "null"),
    "an object": ({"a": 1}, "a mapping"),
    "an array": ([1], "a list"),
    "a text": ("a", "'a'"),
    "a long text": ("a" * 41, f"'{'a' * 40}...'"),
    "a control character": ("a\nb", r"'a\nb'"),
    "a number": (1.5, "1.5"),
}


@pytest.mark.parametrize(("value", "text"), VALUES.values(), ids=VALUES.keys())
def test_a_value_is_formatted_briefly(value: object, text: str) -> None:
    assert format_value(value) == text


def test_a_place_names_members_and_indexes() -> None:
    assert format_place(("profiles", 0, "match")) == "profiles[0].match"
    assert format_place(("a" * 41,)) == f"[{'a' * 40}...]"


def test_a_word_is_suggested_if_one_is_close() -> None:
    assert suggest_word("aply", ["apply", "recommend"]) == "did you mean apply?"
    assert suggest_word("x", ["apply", "recommend"]) == "write apply or recommend"
    assert suggest_word("x", ["apply"]) == "write apply"
    assert suggest_choice(None, ["a", "b", "c"]) == "cannot be null: write a, b or c"


def test_a_value_is_refused_with_all_of_its_problems() -> None:
    problems = [(("a",), "is missing"), (("b", 0), "is empty")]

    with pytest.raises(RefusalError) as raised:
        refuse(iter(problems))

    assert raised.value.problems == tuple(problems)
    refuse([])
    assert refusal("is empty", ("b",)).problems == ((("b",), "is empty"),)


def test_every_repeat_of_a_name_is_refused() -> None:
    found = list(find_repeated_names(["a", "b", "a", "a"], "profile"))

    problem = "'a' names an earlier profile too: write another name"
    assert found == [((2, "name"), problem), ((3, "name"), problem)]


def test_unknown_names_are_no_repeats() -> None:
    (found,) = find_repeated_names([None, "a", None, "a"], "profile")

    assert found[0] == (3, "name")
