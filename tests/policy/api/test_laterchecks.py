"""Checks that kube-apiserver got later than their fields."""

import pytest

from tests.build import constraint, selector
from webhook.policy.api import rules
from webhook.policy.api.laterchecks import PODS_PENDING, PODS_REFUSED, split_violations
from webhook.policy.api.rules import ValidationOptions
from webhook.policy.api.versions import Version
from webhook.policy.kinds import DEPLOYMENT, POD, STATEFUL_SET
from webhook.policy.model import Constraint, GroupKind

APART = ValidationOptions(merged=False)
BAD = constraint(max_skew=0)
INVALID_SELECTOR = constraint(label_selector=selector(app="{web}"))
KEYS_ALONE = constraint(label_selector=None, match_label_keys=("app",))
REPEATED_KEY = constraint(label_selector=selector(app="web"), match_label_keys=("app",))

# constraint, kind, version, rules that are reported, rules that are not and what becomes of pods
CHECKS: dict[str, tuple[Constraint, GroupKind, Version, list[str], dict[str, str]]] = {
    "a skew": (BAD, DEPLOYMENT, Version(1, 20), ["TSC001"], {}),
    "a StatefulSet of 1.33": (BAD, STATEFUL_SET, Version(1, 33), [], {"TSC001": PODS_REFUSED}),
    "a StatefulSet of 1.34": (BAD, STATEFUL_SET, Version(1, 34), ["TSC001"], {}),
    "a selector of 1.26": (INVALID_SELECTOR, POD, Version(1, 26), [], {"TSC009": PODS_PENDING}),
    "a selector of 1.27": (INVALID_SELECTOR, POD, Version(1, 27), ["TSC009"], {}),
    "a selector of a StatefulSet": (
        INVALID_SELECTOR, STATEFUL_SET, Version(1, 27), [], {"TSC009": PODS_REFUSED}
    ),
    "a selector of an old StatefulSet": (
        INVALID_SELECTOR, STATEFUL_SET, Version(1, 26), [], {"TSC009": PODS_PENDING}
    ),
    "keys without a selector in 1.26": (KEYS_ALONE, POD, Version(1, 26), [], {}),
    "keys without a selector in 1.27": (KEYS_ALONE, POD, Version(1, 27), ["TSC008"], {}),
    "a repeated key in 1.26": (REPEATED_KEY, POD, Version(1, 26), ["TSC008"], {}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("checked", "kind", "version", "reported", "accepted"), CHECKS.values(), ids=CHECKS
)
def test_what_a_version_reports(
    checked: Constraint,
    kind: GroupKind,
    version: Version,
    reported: list[str],
    accepted: dict[str, str],
) -> None:
    violations = rules.check((checked,), "spec.topologySpreadConstraints", APART)

    found, others = split_violations(violations, kind, version)

    assert [one.rule for one in found] == reported
    assert [one.rule for one in others] == [*accepted]
    assert all(one.error.message.endswith(f": {accepted[one.rule]}") for one in others)
