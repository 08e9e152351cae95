import pytest

from webhook.cli.inputs.unknownsubjects import suggest_subjects
from webhook.policy.kinds import BUILT_IN_TEMPLATES, DEPLOYMENT, POD, STATEFUL_SET
from webhook.policy.model import GroupKind

KNOWN: list[tuple[GroupKind, str]] = [
    (DEPLOYMENT, "web"),
    (STATEFUL_SET, "web"),
    (DEPLOYMENT, "api"),
    (STATEFUL_SET, "store"),
    (POD, "worker-1"),
]

# what is written, the suggestion
SUGGESTED = {
    "a similar name": ("deploy/wbe", "did you mean deploy/web?"),
    "no similar name": ("deployments/xyz", "write one of deployments/api, deployments/web"),
    "a kind without objects": ("ds/web", ""),
    "a name of two kinds": ("web", "did you mean deployment/web or statefulset/web?"),
    "a similar name without a kind": ("stor", "did you mean statefulset/store?"),
    "a similar pod": ("worker-2", "did you mean pod/worker-1?"),
    "a similar kind": ("deplyo", "did you mean deploy?"),
    "another word": ("xyz", ""),
}


@pytest.mark.parametrize(("written", "advice"), SUGGESTED.values(), ids=SUGGESTED.keys())
def test_similar_subjects_are_suggested(written: str, advice: str) -> None:
    assert suggest_subjects(written, KNOWN, BUILT_IN_TEMPLATES) == advice


def test_many_names_are_shortened() -> None:
    known = [(DEPLOYMENT, name) for name in "abcdefg"]

    advice = suggest_subjects("deploy/xyz", known, BUILT_IN_TEMPLATES)

    assert advice == ("write one of deploy/a, deploy/b, deploy/c, deploy/d, deploy/e and 2 more")
