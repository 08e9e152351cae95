import textwrap
from typing import NamedTuple

import pytest

from tests.fix.fixed import NODES, TAINTED, deployment, options, reasons, run_fix
from webhook.config import Configuration
from webhook.fix.remedies import FIX_REMEDIES
from webhook.policy.advice.examples import ADVICE_EXAMPLES as ADVICE
from webhook.policy.advice.examples import NODES as ADVICE_NODES
from webhook.policy.api.examples import API_EXAMPLES as API
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.catalogue import CATALOGUE, DEFAULT_ACTIONS, Action
from webhook.policy.defaulting.profiles import Profile


class Mend(NamedTuple):
    """
    A rule, and what becomes of the constraints of a Deployment.

    Attributes:
        before: The member topologySpreadConstraints, or nothing.
        after: The same mended.
    """

    rule: str
    before: str
    after: str
    labels: str = "{app: web}"
    cluster: str = ""
    version: Version = NEWEST_VERSION


MENDED = {
    "TSC001: a skew of 0": Mend(
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
    "TSC001: no skew at all": Mend(
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
    "TSC003: another case, a letter missing": Mend(
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
    "TSC004: three times the same": Mend(
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
    "TSC005: no domain demanded": Mend(
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
    "TSC006: minDomains of a soft constraint": Mend(
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
    "TSC007: spelt as the British do": Mend(
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
    "TSC008: keys without a selector": Mend(
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
    "TSC008: of the pod's own value in both the selector's goes": Mend(
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
    "TSC008: the key goes if nothing else is selected": Mend(
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
    "TSC008: a key that joins nothing goes": Mend(
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
    "TSC008: what any revision has goes": Mend(
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
    "TSC009: an operator in another case": Mend(
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
    "TSC020: a deprecated label": Mend(
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
    "TSC101: the values of another application": Mend(
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
    "TSC102: a null selector and an empty one": Mend(
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
    "TSC103: a label without its prefix": Mend(
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
    "TSC104: more domains than there are": Mend(
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
    "TSC105: tainted nodes": Mend(
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
    "TSC107: a key more": Mend(
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
    "TSC110: nothing spreads it": Mend(
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
    "TSC111: a field that came later": Mend(
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
    "TSC112: on request": Mend(
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


def lines(text: str) -> str:
    return textwrap.indent(textwrap.dedent(text.strip("\n")), "      ").rstrip(" ")


@pytest.mark.parametrize("case", MENDED.values(), ids=MENDED.keys())
def test_a_rule_is_mended_to_the_letter(case: Mend) -> None:
    before = deployment(lines(case.before), case.labels)
    by = options(case.rule, version=case.version)

    outcome = run_fix(before, by, case.cluster)
    again = run_fix(outcome.texts, by, case.cluster)

    assert outcome.texts["web.yaml"] == deployment(lines(case.after), case.labels)
    assert {each.rule for each in outcome.fixed} == {case.rule}
    assert (outcome.left, outcome.problems) == ((), ())
    assert (again.fixed, again.texts) == ((), outcome.texts)


HEAD = "apiVersion: apps/v1\nkind: Deployment"


class Leave(NamedTuple):
    """A rule, and constraints that are left, with a part of the reason."""

    rule: str
    before: str
    reason: str
    labels: str = "{app: web}"
    cluster: str = ""
    version: Version = NEWEST_VERSION
    named: bool = True
    head: str = HEAD


def entry(**changes: str) -> str:
    """One constraint; what is changed to nothing is left out."""
    members = {
        "maxSkew": "1",
        "topologyKey": "a",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": "{matchLabels: {app: web}}",
        **changes,
    }
    written = ", ".join(f"{key}: {value}" for key, value in members.items() if value)
    return f"- {{{written}}}\n"


def listed(*entries: str) -> str:
    return lines("topologySpreadConstraints:\n" + "".join(entries))


OTHER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: db, namespace: shop}
spec: {template: {metadata: {labels: {app: db}}, spec: {containers: []}}}
"""
_SHARED = "{matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [x]}]}"
_TWICE = "{matchExpressions: [{key: app, operator: In, values: [web, x]}]}"

LEFT = {
    "TSC002": Leave("TSC002", listed(entry(topologyKey='""')), "only its author knows"),
    "TSC003: neither word": Leave(
        "TSC003", listed(entry(whenUnsatisfiable="Never")), "which of DoNotSchedule and"
    ),
    "TSC003: no word": Leave("TSC003", listed(entry(whenUnsatisfiable="")), "cannot be known"),
    "TSC003: the effect of a taint": Leave(
        "TSC003", listed(entry(whenUnsatisfiable="NoSchedule")), "cannot be known"
    ),
    "TSC004: other selectors": Leave(
        "TSC004",
        listed(entry(), entry(labelSelector="{matchLabels: {x: z}}")),
        "differs from entry 1 in more than maxSkew",
    ),
    "TSC004: a skew that is none": Leave(
        "TSC004", listed(entry(), entry(maxSkew="0")), "unknown until both have a valid maxSkew"
    ),
    "TSC006: neither hard nor soft": Leave(
        "TSC006", listed(entry(whenUnsatisfiable="Never", minDomains="2")), "depends on"
    ),
    "TSC007: another word": Leave(
        "TSC007", listed(entry(nodeTaintsPolicy='""')), "which of Honor and Ignore"
    ),
    "TSC008: no label key": Leave(
        "TSC008", listed(entry(matchLabelKeys="[-x]")), "which label is intended"
    ),
    "TSC008: the selector asks for another value": Leave(
        "TSC008",
        listed(entry(matchLabelKeys="[tier]", labelSelector=_SHARED)),
        "whether tier belongs here or in the selector",
        labels="{app: web, tier: front}",
        version=Version(1, 33),
    ),
    "TSC008: more than the own value, and nothing else": Leave(
        "TSC008",
        listed(entry(matchLabelKeys="[app]", labelSelector=_TWICE)),
        "whether app belongs here",
        version=Version(1, 33),
    ),
    "TSC008: pods without labels": Leave(
        "TSC008",
        listed(entry(matchLabelKeys="[app]", labelSelector="")),
        "no labels",
        labels="{}",
    ),
    "TSC009: a value that is none": Leave(
        "TSC009",
        listed(entry(labelSelector="{matchLabels: {app: -}}")),
        "which labels are intended",
    ),
    "TSC020: the new label is taken": Leave(
        "TSC020",
        listed(
            entry(topologyKey="failure-domain.beta.kubernetes.io/zone"),
            entry(topologyKey="topology.kubernetes.io/zone"),
        ),
        "would cause TSC004",
    ),
    "TSC020: no node has the new label": Leave(
        "TSC020",
        listed(entry(topologyKey="failure-domain.beta.kubernetes.io/zone")),
        "would cause TSC103",
        cluster=NODES.replace("topology.kubernetes", "failure-domain.beta.kubernetes"),
    ),
    "TSC101: it selects the pods of another one": Leave(
        "TSC101",
        listed(entry(labelSelector="{matchLabels: {app: db}}")),
        "it selects the pods of Deployment/db",
        cluster=OTHER,
    ),
    "TSC101: other labels": Leave(
        "TSC101", listed(entry(labelSelector="{matchLabels: {run: web}}")), "other labels"
    ),
    "TSC101: expressions": Leave(
        "TSC101",
        listed(entry(labelSelector="{matchExpressions: [{key: app, operator: DoesNotExist}]}")),
        "which pods it should select",
    ),
    "TSC102: pods without labels": Leave(
        "TSC102",
        listed(entry(labelSelector="")),
        "no labels",
        labels="{}",
        head="apiVersion: batch/v1\nkind: Job",
    ),
    "TSC103: like no label": Leave(
        "TSC103", listed(entry(topologyKey="building")), "no label of the nodes", cluster=NODES
    ),
    "TSC103: on some nodes": Leave(
        "TSC103",
        listed(entry(topologyKey="topology.kubernetes.io/zone")),
        "label the other nodes",
        cluster=NODES.replace("topology.kubernetes.io/zone: zone-a, ", ""),
    ),
    "TSC111: the whole list": Leave(
        "TSC111", listed(entry()), "the whole list", version=Version(1, 16)
    ),
    "TSC112: unasked": Leave(
        "TSC112", listed(entry(maxSkew="9")), "--rules TSC112 applies it", named=False
    ),
    "a value of another type": Leave(
        "FieldValueTypeInvalid", listed(entry(maxSkew='"1"')), "cannot be known"
    ),
}


@pytest.mark.parametrize("case", LEFT.values(), ids=LEFT.keys())
def test_what_a_machine_cannot_decide_is_left_and_said(case: Leave) -> None:
    before = deployment(case.before, case.labels).replace(HEAD, case.head)
    by = options(*([case.rule] if case.named else []), version=case.version)

    outcome = run_fix(before, by, case.cluster)

    assert case.reason in reasons(outcome.left)[case.rule]
    assert case.rule not in {each.rule for each in outcome.fixed}
    assert outcome.texts["web.yaml"] == before or not case.named


def test_there_is_a_remedy_for_every_rule_in_order() -> None:
    assert set(FIX_REMEDIES) == {*CATALOGUE, "TSC010"}
    numbered = [rule for rule in FIX_REMEDIES if rule.startswith("TSC")]
    assert numbered == sorted(numbered)


def test_a_remedy_that_does_nothing_says_why() -> None:
    assert all(each.writes or each.leaves for each in FIX_REMEDIES.values())


CHOICE = {"TSC002", "TSC003", "TSC007", "TSC009", "TSC113", "TSC114", "TSC115"}
"""Rules whose example leaves a choice, or has nothing to do with the manifest."""

EXAMPLES = {
    **{rule: each.violates for rule, each in API.items() if rule not in {"TSC010", "TSC021"}},
    **{
        rule: each.violates if "kind: Node" in each.violates else each.violates + ADVICE_NODES
        for rule, each in ADVICE.items()
    },
}


@pytest.mark.parametrize("rule", sorted(EXAMPLES.keys() - CHOICE))
def test_the_example_of_a_rule_is_mended(rule: str) -> None:
    version = Version(1, 24) if rule == "TSC111" else NEWEST_VERSION

    outcome = run_fix(EXAMPLES[rule], options(rule, version=version))

    assert [each.rule for each in outcome.fixed] == [rule]
    assert outcome.left == ()


@pytest.mark.parametrize("rule", sorted(CHOICE - {"TSC114", "TSC115"}))
def test_the_example_that_leaves_a_choice_is_left(rule: str) -> None:
    outcome = run_fix(EXAMPLES[rule], options(rule))

    assert [each.rule for each in outcome.left] == [rule]
    assert outcome.texts["web.yaml"] == EXAMPLES[rule]


def test_a_null_selector_is_filled_in_where_only_the_api_server_minds() -> None:
    actions = {**DEFAULT_ACTIONS, "TSC102": Action.OFF}
    silent = Configuration(actions=actions)

    outcome = run_fix(API["TSC021"].violates, options("TSC021", configuration=silent))

    assert [each.wrote for each in outcome.fixed] == [
        "added labelSelector: {matchLabels: {app: web}}"
    ]


def test_a_selector_that_a_profile_completes_is_left() -> None:
    profile = Profile(name="all", complete_selectors=True)
    completing = Configuration(profiles=(profile,))
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}}\n"

    outcome = run_fix(API["TSC021"].violates, options("TSC021", configuration=completing), service)

    assert reasons(outcome.left) == {"TSC021": "the profile completes it when a pod is created"}
