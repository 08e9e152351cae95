"""The effect of a finding is a sentence for each kind of rule."""

import pytest

from webhook.policy.catalogue import CATALOGUE

EFFECTS = {
    "a rule of kube-apiserver": (
        "TSC005", "kube-apiserver refuses the object, since version 1.24."
    ),
    "a warning of kube-apiserver": (
        "TSC021", "kube-apiserver accepts the object with a warning, since version 1.28."
    ),
    "a policy rule": ("TSC108", CATALOGUE["TSC108"].why),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "effect"), EFFECTS.values(), ids=EFFECTS.keys())
def test_the_effect_of(rule: str, effect: str) -> None:
    assert CATALOGUE[rule].effect == effect
