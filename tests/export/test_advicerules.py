"""The texts of conditions; ``tests.e2e.test_export_advice`` has API servers evaluate them."""

import re

import pytest

from tests.build import gates
from webhook.export.advicerules import ADVICE_RULES, is_exempt, write_advice_conditions
from webhook.export.members import EXPRESSION_KEY, EXPRESSION_OPERATOR
from webhook.policy import kinds
from webhook.policy.model import GroupKind
from webhook.policy.podlabels import ADDED_LABELS

FLEET = GroupKind("example.io", "Fleet")


@pytest.mark.parametrize("kind", [*ADDED_LABELS, FLEET], ids=str)
def test_every_rule_has_a_condition(kind: GroupKind) -> None:
    conditions = write_advice_conditions(kind, gates(), completes=False)

    assert tuple(conditions) == ADVICE_RULES
    for condition in conditions.values():
        assert condition.count("(") == condition.count(")")


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (kinds.DEPLOYMENT, '["pod-template-hash"]'),
        (kinds.JOB, "batch.kubernetes.io/job-completion-index"),
        (kinds.JOB_SET, r"jobset\\.sigs\\.k8s\\.io"),
    ],
)
def test_labels_that_a_controller_adds_are_known(kind: GroupKind, word: str) -> None:
    assert word in write_advice_conditions(kind, gates(), completes=False)["TSC101"]


def test_no_pod_lacks_a_label_that_its_controller_adds() -> None:
    present = f'!({EXPRESSION_OPERATOR} == "DoesNotExist" && {EXPRESSION_KEY} in '

    hashed, bare = (
        write_advice_conditions(kind, gates(), completes=False)["TSC101"]
        for kind in (kinds.DEPLOYMENT, kinds.POD)
    )

    assert f'{present}["pod-template-hash"]) && ' in hashed
    assert present not in bare


@pytest.mark.parametrize("kind", [FLEET, kinds.ROLLOUT])
def test_an_unknown_controller_may_add_any_label(kind: GroupKind) -> None:
    condition = write_advice_conditions(kind, gates(), completes=False)["TSC101"]

    assert re.search(r' : (k != "rollouts-pod-template-hash" && )?true\)', condition)


def test_null_selectors_are_violations_unless_they_are_completed() -> None:
    plain = write_advice_conditions(kinds.POD, gates(), completes=False)["TSC102"]
    completed = write_advice_conditions(kinds.POD, gates(), completes=True)["TSC102"]

    assert completed == "!" + plain.replace(" && (size", " || (size", 1)


def test_a_gate_decides_about_match_label_keys() -> None:
    off = gates(
        MatchLabelKeysInPodTopologySpread=False,
        MatchLabelKeysInPodTopologySpreadSelectorMerge=False,
    )

    condition = write_advice_conditions(kinds.POD, off, completes=False)["TSC102"]

    assert condition.endswith("|| false)")


@pytest.mark.parametrize(
    ("annotation", "exempt"),
    [
        ("TSC101=a", True),
        ("TSC102=a, TSC101 = b", True),
        ("TSC101=", False),
        ("TSC101= ,TSC102=a", False),
        ("XTSC101=a", False),
    ],
)
def test_an_exemption_has_a_reason(annotation: str, exempt: bool) -> None:
    """The syntax of this pattern means the same in RE2 and in Python."""
    found = re.search(r'\.matches\("(.*)"\)$', is_exempt("TSC101"))
    assert found is not None
    pattern = found[1].replace("\\\\", "\\")

    assert bool(re.search(pattern, annotation)) is exempt
