"""
The table of the policy rules: what each one is called, why it is, and where it is asked.

Ids are public and for ever: they stand in configurations, exemptions, metrics and reports.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from webhook.policy.advice import defaulting, fields, replicas, selectors, skew, topology
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.findings import RuleViolation
from webhook.policy.advice.subject import Subject
from webhook.policy.api.versions import Version
from webhook.policy.catalogue import DEFAULT_ACTIONS, Action

Check: TypeAlias = Callable[[Subject, AdviceContext], Iterator[RuleViolation]]
"""Judges a subject: yields what is wrong with it; nothing where too little is known."""


class RuleScope(StrEnum):
    """Who asks a rule."""

    EVERYWHERE = "admission and audit"
    DROPPING = "admission, by what drops the field, and audit"
    AUDIT = "audit"


class PolicyRule(NamedTuple):
    """
    One row of the table.

    Attributes:
        id: ``TSC101`` to ``TSC115``.
        title: What the rule demands, in a few words.
        why: What goes wrong otherwise; sentences, for people who read on.
        fix: What to write instead.
        since: The first Kubernetes version that knows what it is about.
        check: The rule itself.
        where: Admissions ask only what costs the same in a cluster of any size, and not what they
            have changed before.
        as_written: Whether it sees constraints as they were written; all others see them without
            what feature gates hold back.
    """

    id: str
    title: str
    why: str
    fix: str
    since: Version
    check: Check
    where: RuleScope = RuleScope.EVERYWHERE
    as_written: bool = False

    @property
    def action(self) -> Action:
        """What is done about a finding unless the configuration says otherwise."""
        return DEFAULT_ACTIONS[self.id]


_1_16, _1_18, _1_24, _1_25 = Version(1, 16), Version(1, 18), Version(1, 24), Version(1, 25)

POLICY_RULES: tuple[PolicyRule, ...] = (
    PolicyRule(
        "TSC101",
        "labelSelector matches the pod's own labels",
        "A pod that its own constraint does not count leaves no trace in the counts: the next one "
        "is placed as if it were not there, and all of them may end in one domain.",
        "select the pod's own labels, as `labelSelector: {matchLabels: {app: web}}`",
        _1_16,
        selectors.selector_matches_itself,
    ),
    PolicyRule(
        "TSC102",
        "labelSelector counts some pods",
        "A null selector matches no pod, and an empty one makes kube-scheduler count none. Every "
        "domain is then as empty as every other, and the constraint spreads nothing. The same "
        "happens to an empty selector whose matchLabelKeys the pods do not carry.",
        "select the pod's own labels, as `labelSelector: {matchLabels: {app: web}}`",
        _1_16,
        selectors.selector_counts_pods,
    ),
    PolicyRule(
        "TSC103",
        "topologyKey is a label of all schedulable nodes",
        "Nodes without the label are in no domain. A hard constraint never lets a pod go there, a "
        "soft one ranks them last; with a mistyped key that is every node there is.",
        "write a label that all nodes carry, as `topologyKey: topology.kubernetes.io/zone`",
        _1_16,
        topology.key_is_on_nodes,
    ),
    PolicyRule(
        "TSC104",
        "minDomains is at most the number of domains that the pods can reach",
        "While there are fewer domains than minDomains the global minimum counts as 0: each domain "
        "takes maxSkew pods, and all others stay Pending until somebody adds a domain.",
        "write as many as there are, or let the pods go to more by nodeSelector and tolerations",
        _1_24,
        topology.min_domains_can_be_met,
    ),
    PolicyRule(
        "TSC105",
        "no domain that counts consists of nodes that the pods cannot go to",
        "By default taints are not looked at when domains are counted. A zone of tainted nodes, or "
        "a control plane node where nodes are the domains, then counts as one that stays empty: "
        "the global minimum is 0 for ever, and every other domain takes maxSkew pods at most.",
        "write `nodeTaintsPolicy: Honor`, so that these nodes do not count",
        _1_16,
        topology.domains_are_open,
    ),
    PolicyRule(
        "TSC106",
        "some node satisfies all hard constraints together",
        "Each constraint leaves some nodes; the next pod needs one that all of them leave. A pod "
        "for which there is none stays Pending until others go or nodes come.",
        "raise maxSkew as the finding says, or make one of the constraints `ScheduleAnyway`",
        _1_16,
        skew.next_pod_has_a_node,
        RuleScope.AUDIT,
    ),
    PolicyRule(
        "TSC107",
        "constraints of a Deployment tell its revisions apart",
        "While a new revision is rolled out, its pods are placed by where the old ones are. When "
        "these are gone, what remains is uneven, and nothing moves it.",
        "write `matchLabelKeys: [pod-template-hash]`",
        _1_25,
        fields.revisions_count_apart,
    ),
    PolicyRule(
        "TSC108",
        "pods with volumes of their own are spread over zones by a soft constraint",
        "A volume is mostly made in the zone of the pod's first node and cannot leave it. A pod "
        "that a hard constraint wants in another zone has nowhere to go.",
        "write `whenUnsatisfiable: ScheduleAnyway` for the zone",
        _1_16,
        fields.volumes_can_follow,
    ),
    PolicyRule(
        "TSC109",
        "hard constraints on zones and on nodes can be kept together by all replicas",
        "Zones of different sizes cannot be even by zone and by node at once. Some of the replicas "
        "stay Pending, though each of the two constraints looks harmless.",
        "make the constraint on nodes soft, or raise its maxSkew as the finding says",
        _1_16,
        replicas.constraints_agree,
        RuleScope.AUDIT,
    ),
    PolicyRule(
        "TSC110",
        "something spreads a workload of two or more replicas",
        "Without a constraint, a pod anti-affinity or defaults, nothing keeps all replicas from "
        "one node, and they are lost together with it. Pods that ask for the same port of their "
        "node are apart anyway, and pods that must be beside those of another workload go where "
        "these are.",
        "write a constraint on topology.kubernetes.io/zone and one on kubernetes.io/hostname",
        _1_18,
        defaulting.something_spreads,
    ),
    PolicyRule(
        "TSC111",
        "no field is behind a feature gate that is off",
        "Kubernetes drops such a field from what is created, silently; what is stored with it from "
        "an earlier time keeps it without effect.",
        "leave the field out, or have the gate switched on",
        _1_16,
        fields.fields_are_in_force,
        RuleScope.DROPPING,
        as_written=True,
    ),
    PolicyRule(
        "TSC112",
        "maxSkew of a hard constraint is below the number of replicas",
        "Even with all replicas in one domain and none in another the skew is their number: the "
        "constraint keeps a pod from no domain.",
        "write the skew that you would put up with, mostly `maxSkew: 1`",
        _1_16,
        replicas.skew_can_bind,
    ),
    PolicyRule(
        "TSC113",
        "labelSelector counts the pods of one workload only",
        "Pods of others fill domains that this workload's pods then avoid, though none of its own "
        "are there; each of them may be even only together.",
        "add a label to the selector that only this workload's pods carry",
        _1_16,
        selectors.selector_counts_no_others,
        RuleScope.AUDIT,
    ),
    PolicyRule(
        "TSC114",
        "running pods are no more uneven than maxSkew allows",
        "Constraints are asked when a pod is placed and never again: scaling down, losing a node "
        "and draining one leave pods uneven until they are made anew.",
        "have the pods made anew, or let a descheduler do so",
        _1_16,
        skew.skew_is_kept,
        RuleScope.AUDIT,
    ),
    PolicyRule(
        "TSC115",
        "running pods have the defaults of their profile",
        "Defaults are written into a pod when it is created. Pods that are older than the profile, "
        "or than a change of their Services, lack them, or count others than they should.",
        "have the pods made anew",
        _1_18,
        defaulting.pods_have_defaults,
        RuleScope.AUDIT,
    ),
)
"""Every policy rule, by id; the first ones of a subject's findings are told first."""
