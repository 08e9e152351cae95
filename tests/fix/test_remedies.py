"""Remedies of rules that are not about selectors, and the table of remedies."""

import pytest

from tests.docs.advice_examples import ADVICE_EXAMPLES as ADVICE
from tests.docs.advice_examples import NODES as ADVICE_NODES
from tests.docs.api_examples import API_EXAMPLES as API
from tests.fix.cases import FixCase, assert_fixed
from tests.fix.fixed import NODES, TAINTED, options, run_fix
from webhook.fix.remedies import FIX_REMEDIES
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.catalogue import CATALOGUE

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
    "TSC103: a label without its prefix": FixCase(
        "TSC103",
        """
        topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
        """,
        """
        topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, """
        """whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
        """,
        cluster=NODES,
    ),
    "TSC104: more domains than there are": FixCase(
        "TSC104",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          minDomains: 5 # one day
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          minDomains: 3 # one day
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        cluster=NODES,
    ),
    "TSC105: tainted nodes": FixCase(
        "TSC105",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          nodeTaintsPolicy: Honor
        """,
        cluster=NODES + TAINTED,
    ),
    "TSC107: a key more": FixCase(
        "TSC107",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {app: web}
        - maxSkew: 1
          topologyKey: b
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
            - tier
          labelSelector:
            matchLabels: {app: web}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {app: web}
          matchLabelKeys:
          - pod-template-hash
        - maxSkew: 1
          topologyKey: b
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
            - tier
            - pod-template-hash
          labelSelector:
            matchLabels: {app: web}
        """,
        labels="{app: web, tier: front}",
    ),
    "TSC110: nothing spreads it": FixCase(
        "TSC110",
        "",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app: web
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app: web
        """,
    ),
    "TSC111: a field that came later": FixCase(
        "TSC111",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          minDomains: 3
          nodeTaintsPolicy: Honor
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        version=Version(1, 23),
    ),
    "TSC112: on request": FixCase(
        "TSC112",
        """
        topologySpreadConstraints:
        - maxSkew: 9
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
    ),
}


@pytest.mark.parametrize("case", FIXED.values(), ids=FIXED.keys())
def test_a_finding_is_fixed_to_the_letter(case: FixCase) -> None:
    assert_fixed(case)


def test_there_is_a_remedy_for_every_rule_in_order() -> None:
    assert set(FIX_REMEDIES) == {*CATALOGUE, "TSC010"}
    numbered = [rule for rule in FIX_REMEDIES if rule.startswith("TSC")]
    assert numbered == sorted(numbered)


CHOICE = {"TSC002", "TSC003", "TSC007", "TSC009", "TSC113", "TSC114", "TSC115"}
"""Rules whose example leaves a choice, or has nothing to do with the manifest."""


EXAMPLES = {
    **{rule: example.violates for rule, example in API.items() if rule not in {"TSC010", "TSC021"}},
    **{
        rule: example.violates + ("" if "kind: Node" in example.violates else ADVICE_NODES)
        for rule, example in ADVICE.items()
    },
}


@pytest.mark.parametrize("rule", sorted(EXAMPLES.keys() - CHOICE))
def test_the_example_of_a_rule_is_fixed(rule: str) -> None:
    version = Version(1, 24) if rule == "TSC111" else NEWEST_VERSION

    outcome = run_fix(EXAMPLES[rule], options(rule, version=version))

    assert [finding.rule for finding in outcome.fixed] == [rule]
    assert outcome.left == ()


@pytest.mark.parametrize("rule", sorted(CHOICE - {"TSC114", "TSC115"}))
def test_the_example_that_leaves_a_choice_is_left(rule: str) -> None:
    outcome = run_fix(EXAMPLES[rule], options(rule))

    assert [finding.rule for finding in outcome.left] == [rule]
    assert outcome.texts["web.yaml"] == EXAMPLES[rule]
