"""Values of wrong types, and which of them are corrected."""

import pytest

from tests.fix.fixed import deployment, options, reasons, run_fix

HAND = "a value of a wrong type is corrected by hand"
SOUND = """\
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: zone
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}
        matchLabelKeys: [pod-template-hash]
"""

# sound text, the wrong text in its place, and what is written
CORRECTED: dict[str, tuple[str, str, str]] = {
    "an integer in quotes": ("maxSkew: 1", 'maxSkew: "1"', 'maxSkew: 1, not "1"'),
    "a key in place of a list": (
        "matchLabelKeys: [pod-template-hash]",
        "matchLabelKeys: pod-template-hash",
        "matchLabelKeys: [pod-template-hash], not pod-template-hash",
    ),
    "a value in place of a list": ("values: [web]", "values: web", "values: [web], not web"),
}


@pytest.mark.parametrize(("right", "wrong", "wrote"), CORRECTED.values(), ids=CORRECTED)
def test_a_value_whose_meaning_is_certain_gets_its_type(right: str, wrong: str, wrote: str) -> None:
    outcome = run_fix(deployment(SOUND.replace(right, wrong)))

    assert [one.wrote for one in outcome.fixed] == [f"wrote {wrote}"]
    assert not outcome.left
    (again,) = (run_fix(text) for text in outcome.texts.values())
    assert not again.fixed


# sound text, the wrong text in its place
LEFT: dict[str, tuple[str, str]] = {
    "no number": ("maxSkew: 1", 'maxSkew: "one"'),
    "a fraction": ("maxSkew: 1", "maxSkew: 1.5"),
    "a number that is too large": ("maxSkew: 1", 'maxSkew: "9999999999"'),
    "a value that is written twice": ("maxSkew: 1", 'maxSkew: 2\n        maxSkew: "1"'),
    "no value": ("matchLabelKeys: [pod-template-hash]", 'matchLabelKeys: ""'),
    "a number in place of a string": ("values: [web]", "values: [1.10]"),
}


@pytest.mark.parametrize(("right", "wrong"), LEFT.values(), ids=LEFT)
def test_a_value_whose_meaning_is_not_certain_is_left(right: str, wrong: str) -> None:
    outcome = run_fix(deployment(SOUND.replace(right, wrong)), options("FieldValueTypeInvalid"))

    assert [one.reason for one in outcome.left] == [HAND]
    assert not outcome.fixed


def test_other_findings_come_after_the_types() -> None:
    text = SOUND.replace("maxSkew: 1", "maxSkew: x, minDomain: 3".replace(", ", "\n        "))

    outcome = run_fix(deployment(text))

    assert reasons(outcome.left) == {
        "FieldValueTypeInvalid": HAND,
        "TSC011": "first correct the values of wrong types",
    }


def test_the_rules_judge_an_object_once_its_types_are_right() -> None:
    outcome = run_fix(deployment(SOUND.replace("maxSkew: 1", 'maxSkew: "0"')))

    assert [one.rule for one in outcome.fixed] == ["FieldValueTypeInvalid", "TSC001"]
    (text,) = outcome.texts.values()
    assert "- maxSkew: 1\n" in text
