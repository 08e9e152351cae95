"""Remedies for selectors and matchLabelKeys."""

import pytest

from tests.fix.cases import FixCase, assert_fixed
from webhook.policy.api.versions import Version

FIXED = {
    "TSC008: keys without a selector": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels:
              app: web
        """,
    ),
    "TSC008: keys without a selector, one of which is all that could be selected": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [app, pod-template-hash]
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels:
              app: web
        """,
    ),
    "TSC008: of the pod's own value in both the selector's goes": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [tier]
          labelSelector:
            matchLabels:
              app: web
              tier: front # always
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [tier]
          labelSelector:
            matchLabels:
              app: web
              # always
        """,
        labels="{app: web, tier: front}",
        version=Version(1, 33),
    ),
    "TSC008: the key goes if nothing else is selected": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
          - app
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
        """,
        version=Version(1, 33),
    ),
    "TSC008: a key for which only the pods are refused": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [app, pod-template-hash]
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector: {matchLabels: {app: web}}
        """,
    ),
    "TSC008: a key that joins nothing goes": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash, tier]
          labelSelector:
            {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: Exists}]}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: Exists}]}
        """,
        version=Version(1, 33),
    ),
    "TSC008: a repeated key goes": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [app, app]
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
        """,
        version=Version(1, 33),
    ),
    "TSC008: what any revision has goes": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels: {app: web}
            matchExpressions:
            - {key: pod-template-hash, operator: Exists}
            - {key: app, operator: Exists}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels: {app: web}
            matchExpressions:
            - {key: app, operator: Exists}
        """,
        version=Version(1, 33),
    ),
    "TSC009: an operator in another case": FixCase(
        "TSC009",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchExpressions: [{key: app, operator: in, values: [web]}]}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}
        """,
    ),
    "TSC101: the values of another application": FixCase(
        "TSC101",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app: "old" # us
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app: "web" # us
        """,
    ),
    "TSC102: a null selector and an empty one": FixCase(
        "TSC102",
        """
        topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}
        - maxSkew: 1
          topologyKey: b
          labelSelector: # all
          whenUnsatisfiable: ScheduleAnyway
        - labelSelector: {}
          maxSkew: 1
          topologyKey: c
          whenUnsatisfiable: ScheduleAnyway
        - labelSelector:
            matchExpressions: []
          maxSkew: 1
          topologyKey: d
          whenUnsatisfiable: ScheduleAnyway
        """,
        """
        topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, """
        """labelSelector: {matchLabels: {app: web}}}
        - maxSkew: 1
          topologyKey: b
          labelSelector: # all
            matchLabels:
              app: web
          whenUnsatisfiable: ScheduleAnyway
        - labelSelector: {matchLabels: {app: web}}
          maxSkew: 1
          topologyKey: c
          whenUnsatisfiable: ScheduleAnyway
        - labelSelector:
            matchExpressions: []
            matchLabels:
              app: web
          maxSkew: 1
          topologyKey: d
          whenUnsatisfiable: ScheduleAnyway
        """,
    ),
    "TSC117: a misspelled key, and one of nothing": FixCase(
        "TSC117",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [tier, pod-template-hsh] # of the revision
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash] # of the revision
          labelSelector: {matchLabels: {app: web}}
        """,
    ),
}


@pytest.mark.parametrize("case", FIXED.values(), ids=FIXED.keys())
def test_a_finding_is_fixed_to_the_letter(case: FixCase) -> None:
    assert_fixed(case)
