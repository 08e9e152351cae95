"""Remedies of API rules that are not about selectors."""

import dataclasses

import pytest
from msgspec.structs import replace

from tests.fix.cases import FixCase, assert_fixed, entry, listed
from tests.fix.fixed import context_of, deployment
from webhook.fix.changes import FixObstacle
from webhook.fix.remedies import find_solution
from webhook.policy.paths import format_path

FIXED = {
    "TSC001: a skew of 0": FixCase(
        "TSC001",
        """
        topologySpreadConstraints:
        - topologyKey: zone
          maxSkew: 0 # even
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - topologyKey: zone
          maxSkew: 1 # even
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
    ),
    "TSC001: no skew at all": FixCase(
        "TSC001",
        """
        topologySpreadConstraints:
        - {topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
        """,
        """
        topologySpreadConstraints:
        - {topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, maxSkew: 1}
        """,
    ),
    "TSC003: another case, a letter missing": FixCase(
        "TSC003",
        """
        topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: "doNotSchedule", labelSelector: {}}
        - {maxSkew: 1, topologyKey: b, whenUnsatisfiable: ScheduleAnway, labelSelector: {}}
        """,
        """
        topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: "DoNotSchedule", labelSelector: {}}
        - {maxSkew: 1, topologyKey: b, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
        """,
    ),
    "TSC004: three times the same": FixCase(
        "TSC004",
        """
        topologySpreadConstraints:
        # first
        - {maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
        - {maxSkew: 1, topologyKey: b, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
        # second
        - {topologyKey: a, maxSkew: 2, whenUnsatisfiable: DoNotSchedule, labelSelector: {}} # same
        # third
        - maxSkew: 1 # stricter
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {}
        """,
        """
        topologySpreadConstraints:
        # first
        - {maxSkew: 1, topologyKey: b, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
        # second
        # same
        # third
        - maxSkew: 1 # stricter
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {}
        """,
    ),
    "TSC005: no domain demanded": FixCase(
        "TSC005",
        """
        topologySpreadConstraints:
        - minDomains: 0
          maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {}
        """,
    ),
    "TSC006: minDomains of a soft constraint": FixCase(
        "TSC006",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          # Three zones.
          minDomains: 3
          labelSelector: {}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          # Three zones.
          labelSelector: {}
        """,
    ),
    "TSC007: spelt as the British do": FixCase(
        "TSC007",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          nodeAffinityPolicy: ignore
          nodeTaintsPolicy: 'Honour'
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          nodeAffinityPolicy: Ignore
          nodeTaintsPolicy: 'Honor'
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {}
        """,
    ),
    "TSC011: a misspelled field": FixCase(
        "TSC011",
        """
        topologySpreadConstraints:
        - maxskew: 1 # even
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1 # even
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
    ),
    "TSC011: labels without matchLabels": FixCase(
        "TSC011",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector:
            app: web # one
            tier: front
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector:
            matchLabels:
              app: web # one
              tier: front
        """,
    ),
    "TSC011: matchLabels without labelSelector": FixCase(
        "TSC011",
        """
        topologySpreadConstraints:
        - matchLabels:
            # ours
            app: web
          maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
        """,
        """
        topologySpreadConstraints:
        - labelSelector:
            matchLabels:
              # ours
              app: web
          maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
        """,
    ),
    "TSC011: matchLabels at the indentation of labelSelector": FixCase(
        "TSC011",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: # ours
          matchLabels:
            app: web
          matchExpressions:
          - {key: app, operator: Exists}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          # ours
          labelSelector:
            matchLabels:
              app: web
            matchExpressions:
            - {key: app, operator: Exists}
        """,
    ),
    "TSC011: labels at the indentation of matchLabels": FixCase(
        "TSC011",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector:
            matchLabels:
            app: web
            tier: front
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector:
            matchLabels:
              app: web
              tier: front
        """,
    ),
    "TSC020: a deprecated label": FixCase(
        "TSC020",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: "failure-domain.beta.kubernetes.io/zone"
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: "topology.kubernetes.io/zone"
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
        """,
    ),
}


@pytest.mark.parametrize("case", FIXED.values(), ids=FIXED.keys())
def test_a_finding_is_fixed_to_the_letter(case: FixCase) -> None:
    assert_fixed(case)


def test_advice_about_the_whole_list_removes_no_constraint() -> None:
    text = deployment(listed(entry(maxSkew="9"), entry(whenUnsatisfiable="ScheduleAnyway")))
    context = context_of(text, "TSC112")
    advice = "# let its pods go to some nodes"
    finding = replace(
        context.finding, field=format_path(context.list_path), rule="TSC106", instead=advice
    )

    left = find_solution(dataclasses.replace(context, finding=finding), frozenset({"TSC106"}))

    assert left == FixObstacle("let its pods go to some nodes")
