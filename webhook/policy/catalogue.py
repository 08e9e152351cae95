"""
The catalogue of rules: the texts, the first Kubernetes version and the default action of each.

``CATALOGUE`` is the entry point. Reference pages, ``--explain``, SARIF and the audit's report take
their texts from it. It names no function: the tables of functions, ``api.rules.API_RULES`` and
``advice.rules.POLICY_RULES``, refer to its entries by id. Ids are public and permanent: they appear
in configurations, exemptions, metrics and reports.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from types import MappingProxyType

import msgspec

from webhook.policy.api.versions import Version
from webhook.policy.model import MAX_CONSTRAINTS

_1_16, _1_18, _1_24, _1_25 = Version(1, 16), Version(1, 18), Version(1, 24), Version(1, 25)

TYPE_INVALID = "FieldValueTypeInvalid"  # apimachinery meta/v1 CauseTypeTypeInvalid
REFUSED_EXEMPTION = "exempt"  # the rule that an invalid exemption violates
TOO_MANY_CONSTRAINTS = "TSC010"


class Action(StrEnum):
    """What a finding leads to, from the strictest to the mildest."""

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"
    OFF = "off"


class RuleCategory(StrEnum):
    """Whether kube-apiserver applies a rule too, or evenspread alone."""

    API = "api"
    ADVICE = "advice"


class CatalogueEntry(msgspec.Struct, frozen=True, gc=False):
    """
    One rule in words.

    Attributes:
        title: What the rule demands, in a few words.
        why: What goes wrong otherwise; sentences.
        fix: What to write instead.
        action: What a finding leads to, unless the configuration of a policy rule says otherwise.
    """

    id: str
    title: str
    why: str
    fix: str
    since: Version = _1_16
    category: RuleCategory = RuleCategory.API
    action: Action = Action.DENY

    @property
    def effect(self) -> str:
        """What happens to an object that violates the rule; a sentence, or the reason for it."""
        if self.category is RuleCategory.ADVICE:
            return self.why
        if self.action is Action.WARN:
            return "kube-apiserver accepts the object with a warning."
        return f"kube-apiserver refuses the object, since version {self.since}."


_policy = partial(CatalogueEntry, category=RuleCategory.ADVICE, action=Action.AUDIT)

_OBJECT_ENTRIES = (
    CatalogueEntry(
        TYPE_INVALID,
        "values have the types of the API",
        "The API server cannot decode the object.",
        "write a value of the expected type",
    ),
    _policy(
        REFUSED_EXEMPTION,
        "an exemption names a rule and gives a reason",
        "An exemption of another form exempts from nothing.",
        'write `evenspread.io/exempt: "TSC101=REASON"`',
        action=Action.WARN,
    ),
)

_API_ENTRIES = (
    CatalogueEntry(
        "TSC001",
        "maxSkew is at least 1",
        "Pods are scheduled one at a time, so some domain always holds one pod more than another: "
        "no placement satisfies a skew of 0.",
        "write at least 1: how many more pods a domain may have than the emptiest domain, for "
        "example `maxSkew: 1`",
    ),
    CatalogueEntry(
        "TSC002",
        "topologyKey is set",
        "The values of a node label are the domains; without a label there are none.",
        "name the node label that makes the domains, as `topologyKey: topology.kubernetes.io/zone`",
    ),
    CatalogueEntry(
        "TSC003",
        "whenUnsatisfiable is DoNotSchedule or ScheduleAnyway",
        "The scheduler must know whether a pod that violates maxSkew waits or runs.",
        "write `DoNotSchedule` to hold the pod back, `ScheduleAnyway` to prefer emptier domains",
    ),
    CatalogueEntry(
        "TSC004",
        "each pair of topologyKey and whenUnsatisfiable appears once",
        "Of two constraints with the same topologyKey and whenUnsatisfiable only the stricter one "
        "has an effect.",
        "remove one of the two entries, or join them into one with the smaller maxSkew",
    ),
    CatalogueEntry(
        "TSC005",
        "minDomains is at least 1",
        "There is always at least one domain where a pod can run.",
        "write the number of domains there must be, or leave minDomains out",
        since=_1_24,
    ),
    CatalogueEntry(
        "TSC006",
        "minDomains is used with DoNotSchedule only",
        "minDomains holds pods back until there are enough domains; a ScheduleAnyway constraint "
        "holds none back.",
        "write `whenUnsatisfiable: DoNotSchedule`, or leave minDomains out",
        since=_1_24,
    ),
    CatalogueEntry(
        "TSC007",
        "node inclusion policies are Honor or Ignore",
        "A policy counts either only the nodes on which the pod can run, or all nodes.",
        "write `Honor` to count only nodes on which the pod can run, `Ignore` to count all",
        since=_1_25,
    ),
    CatalogueEntry(
        "TSC008",
        "matchLabelKeys are label keys that the selector does not name too",
        "matchLabelKeys add values of the pod's own labels to the selector; without a selector "
        "there is nothing to add to, and a key that it names already could contradict it.",
        "add a labelSelector, and leave out of it the keys that matchLabelKeys lists",
        since=_1_25,
    ),
    CatalogueEntry(
        "TSC009",
        "labelSelector is a valid label selector",
        "An invalid label selector selects no pod.",
        "write label keys and values in the syntax of labels; values with In and NotIn only",
    ),
    _policy(
        TOO_MANY_CONSTRAINTS,
        f"a list has at most {MAX_CONSTRAINTS} constraints",
        "Every constraint takes time to judge, in the webhook as in the scheduler; a list of this "
        "length comes from a generator that did not stop. evenspread denies the object, "
        "kube-apiserver accepts it.",
        "write one constraint for each topology key and action; real pods have one to three",
        action=Action.DENY,
    ),
)

_WARNING_ENTRIES = (
    CatalogueEntry(
        "TSC020",
        "topologyKey is no deprecated node label",
        "Kubernetes stopped setting the label on new nodes of many clouds; nodes without it "
        "are in no domain.",
        "write the label that the warning names",
        action=Action.WARN,
    ),
    CatalogueEntry(
        "TSC021",
        "labelSelector is set",
        "A null selector matches no pod: every domain counts as empty, and nothing is spread.",
        "write a selector that matches the pod's own labels; a null one counts no pod",
        action=Action.WARN,
    ),
)

_POLICY_ENTRIES = (
    _policy(
        "TSC101",
        "labelSelector matches the pod's own labels",
        "A pod that its own constraint does not count leaves no trace in the counts: the next one "
        "is placed as if it did not exist, and all of them may end in one domain.",
        "select the pod's own labels, as `labelSelector: {matchLabels: {app: web}}`",
        action=Action.WARN,
    ),
    _policy(
        "TSC102",
        "labelSelector counts some pods",
        "A null selector matches no pod, and an empty one makes kube-scheduler count none. Every "
        "domain is then as empty as every other, and the constraint spreads nothing. The same "
        "happens to an empty selector whose matchLabelKeys the pods do not carry.",
        "select the pod's own labels, as `labelSelector: {matchLabels: {app: web}}`",
        action=Action.WARN,
    ),
    _policy(
        "TSC103",
        "topologyKey is a label of all schedulable nodes",
        "Nodes without the label are in no domain. A hard constraint never lets a pod go there, a "
        "soft one ranks them last; with a mistyped key this applies to every node.",
        "write a label that all nodes carry, as `topologyKey: topology.kubernetes.io/zone`",
        action=Action.WARN,
    ),
    _policy(
        "TSC104",
        "minDomains is at most the number of domains that the pods can reach",
        "While there are fewer domains than minDomains the global minimum counts as 0: each domain "
        "takes maxSkew pods, and all others stay Pending until a domain is added.",
        "write as many as there are, or let the pods go to more by nodeSelector and tolerations",
        action=Action.WARN,
        since=_1_24,
    ),
    _policy(
        "TSC105",
        "no domain that counts consists of nodes that the pods cannot go to",
        "By default, taints are ignored when domains are counted. A zone of tainted nodes, or "
        "a control plane node where nodes are the domains, then counts as one that stays empty: "
        "the global minimum stays 0, and every other domain takes maxSkew pods at most.",
        "write `nodeTaintsPolicy: Honor`, so that these nodes do not count",
        action=Action.WARN,
    ),
    _policy(
        "TSC106",
        "some node satisfies all hard constraints together",
        "Each constraint allows some nodes; the next pod needs one that all of them allow. A pod "
        "for which there is none stays Pending until pods are deleted or nodes are added.",
        "raise maxSkew as the finding says, or make one of the constraints `ScheduleAnyway`",
    ),
    _policy(
        "TSC107",
        "constraints of a Deployment tell its revisions apart",
        "While a new revision is rolled out, its pods are placed by where the old ones are. After "
        "these are deleted, the rest is uneven, and nothing moves it.",
        "write `matchLabelKeys: [pod-template-hash]`",
        since=_1_25,
    ),
    _policy(
        "TSC108",
        "pods with volumes of their own are spread over zones by a soft constraint",
        "A volume is usually created in the zone of the pod's first node and cannot leave it. A "
        "pod that a hard constraint requires in another zone has no node to go to.",
        "write `whenUnsatisfiable: ScheduleAnyway` for the zone",
    ),
    _policy(
        "TSC109",
        "all replicas can satisfy the hard constraints on zones and on nodes together",
        "Zones of different sizes cannot be even by zone and by node at once. Some of the replicas "
        "stay Pending, though each of the two constraints looks harmless.",
        "make the constraint on nodes soft, or raise its maxSkew as the finding says",
    ),
    _policy(
        "TSC110",
        "something spreads a workload of two or more replicas",
        "Without a constraint, a pod anti-affinity or defaults, nothing keeps all replicas from "
        "running on one node, whose failure stops them all. The rule does not apply to pods that "
        "use the same host port, which never share a node, nor to pods whose affinity places them "
        "beside those of another workload.",
        "write a constraint on topology.kubernetes.io/zone and one on kubernetes.io/hostname",
        since=_1_18,
    ),
    _policy(
        "TSC111",
        "no field is behind a feature gate that is off",
        "Kubernetes drops such a field silently from an object that is created; an object that was "
        "stored with it earlier keeps it without effect.",
        "leave the field out, or have the gate switched on",
        action=Action.WARN,
    ),
    _policy(
        "TSC112",
        "maxSkew of a hard constraint is below the number of replicas",
        "Even with all replicas in one domain and none in another the skew is their number: the "
        "constraint keeps a pod from no domain.",
        "write the largest skew that you accept, usually `maxSkew: 1`",
    ),
    _policy(
        "TSC113",
        "labelSelector counts the pods of one workload only",
        "Pods of other workloads fill domains that this workload's pods then avoid, though none of "
        "its own run there; the workloads are even only together.",
        "add a label to the selector that only this workload's pods carry",
    ),
    _policy(
        "TSC114",
        "running pods are no more uneven than maxSkew allows",
        "The scheduler checks constraints when it places a pod and never again: scaling down, "
        "losing a node and draining one leave pods uneven until they are recreated.",
        "recreate the pods, or let a descheduler do so",
    ),
    _policy(
        "TSC115",
        "running pods have the defaults of their profile",
        "Defaults are written into a pod when it is created. Pods that are older than the profile, "
        "or than a change of their Services, lack them, or count other pods than they should.",
        "recreate the pods",
        since=_1_18,
    ),
)

CATALOGUE: Mapping[str, CatalogueEntry] = MappingProxyType(
    {
        entry.id: entry
        for entries in (_OBJECT_ENTRIES, _API_ENTRIES, _WARNING_ENTRIES, _POLICY_ENTRIES)
        for entry in entries
    }
)
"""By id, in the order in which rules are listed."""

API_WARNINGS = tuple(entry.id for entry in _WARNING_ENTRIES)  # the ids of kube-apiserver's warnings

DEFAULT_ACTIONS: Mapping[str, Action] = MappingProxyType(
    {entry.id: entry.action for entry in _POLICY_ENTRIES}
)
"""
The default action of each policy rule, the only rules whose action can be configured.

A rule warns if the author of an object can act on it at once; the others are left to audits.
"""


def explain_command(rule: str) -> str:
    """Give the command that explains a rule; it works without a network."""
    return f"evenspread validate --explain {rule}"
