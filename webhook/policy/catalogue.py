"""
The catalogue of rules: the texts, the first Kubernetes version and the default action of each.

``CATALOGUE`` is the entry point. Reference pages, ``--explain``, SARIF and the audit's report take
their texts from it. It names no function: the tables of functions, ``api.rules.API_RULES`` and
``advice.rules.POLICY_RULES``, refer to its entries by id. Ids are public and permanent: they appear
in configurations, exemptions, metrics and reports.
"""

from collections.abc import Mapping
from types import MappingProxyType

from webhook.policy.advice_texts import ADVICE_ENTRIES
from webhook.policy.api.laterchecks import VALIDATES_SELECTORS, WARNS_SINCE
from webhook.policy.api.schema import DUPLICATE_FIELD, UNKNOWN_FIELD
from webhook.policy.api.versions import Version
from webhook.policy.model import MAX_CONSTRAINTS
from webhook.policy.rule_entry import Action, CatalogueEntry, RuleScope, advice_entry

_1_16, _1_18, _1_24, _1_25 = Version(1, 16), Version(1, 18), Version(1, 24), Version(1, 25)

TYPE_INVALID = "FieldValueTypeInvalid"  # apimachinery meta/v1 CauseTypeTypeInvalid
REFUSED_EXEMPTION = "exempt"  # the rule that an invalid exemption violates
TOO_MANY_CONSTRAINTS = "TSC010"


_OBJECT_ENTRIES = (
    CatalogueEntry(
        TYPE_INVALID,
        "values have the types of the API",
        "The API server cannot decode the object.",
        "write a value of the expected type",
    ),
    advice_entry(
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
        "there is nothing to add to, and a key that it names already could contradict it. From "
        "1.34 on, kube-apiserver accepts a workload with such a key, and refuses its pods. "
        "evenspread warns, and denies it with `--strict`.",
        "write each key either in labelSelector or in matchLabelKeys; without a labelSelector, add "
        "one",
        since=_1_25,
    ),
    CatalogueEntry(
        "TSC009",
        "labelSelector is a valid label selector",
        "An invalid label selector selects no pod. Before 1.27, kube-apiserver accepts it, and "
        "kube-scheduler cannot place the pods. evenspread warns then, and denies the object with "
        "`--strict`.",
        "write label keys and values in the syntax of labels; values with In and NotIn only",
        since=VALIDATES_SELECTORS,
    ),
    advice_entry(
        TOO_MANY_CONSTRAINTS,
        f"a list has at most {MAX_CONSTRAINTS} constraints",
        "Every constraint takes time to judge, in the webhook as in the scheduler; a list of this "
        "length comes from a generator that did not stop. evenspread denies the object, "
        "kube-apiserver accepts it.",
        "write one constraint for each topology key and action; real pods have one to three",
        action=Action.DENY,
    ),
)

_STRICT_ENTRIES = (
    CatalogueEntry(
        UNKNOWN_FIELD,
        "the API knows every field of a constraint, and the list is in the pod's specification",
        "A misspelled field, or a misplaced list, has no effect. kube-apiserver drops it, and "
        "kubectl refuses the object, as evenspread does with `--strict`. The webhook only warns, "
        "and only about custom kinds, whose objects may keep the field.",
        "correct the name of the field, or move it to the path in the finding",
        since=_1_25,
        action=Action.WARN,
    ),
    CatalogueEntry(
        DUPLICATE_FIELD,
        "every key of an object appears once",
        "Only the last value of a key has an effect. With `--strict`, evenspread denies the "
        "object.",
        "remove all but one of the lines that the finding names",
        since=_1_25,
        action=Action.WARN,
    ),
)

_WARNING_ENTRIES = (
    CatalogueEntry(
        "TSC020",
        "topologyKey is no deprecated node label",
        "Kubernetes stopped setting the label on new nodes of many clouds; nodes without it "
        "are in no domain.",
        "write the label that the warning names",
        since=WARNS_SINCE["TSC020"],
        action=Action.WARN,
    ),
    CatalogueEntry(
        "TSC021",
        "labelSelector is set",
        "A null selector matches no pod: every domain counts as empty, and nothing is spread.",
        "write a selector that matches the pod's own labels; a null one counts no pod",
        since=WARNS_SINCE["TSC021"],
        action=Action.WARN,
    ),
)

CATALOGUE: Mapping[str, CatalogueEntry] = MappingProxyType(
    {
        entry.id: entry
        for entries in (
            _OBJECT_ENTRIES,
            _API_ENTRIES,
            _STRICT_ENTRIES,
            _WARNING_ENTRIES,
            ADVICE_ENTRIES,
        )
        for entry in entries
    }
)
"""By id, in the order in which rules are listed."""

STRICT_RULES = tuple(entry.id for entry in _STRICT_ENTRIES)  # of strict decoding, on files

API_WARNINGS = tuple(entry.id for entry in _WARNING_ENTRIES)  # the ids of kube-apiserver's warnings

DEFAULT_ACTIONS: Mapping[str, Action] = MappingProxyType(
    {entry.id: entry.action for entry in ADVICE_ENTRIES}
)
"""
The default action of each policy rule, the only rules whose action can be configured.

A rule warns if the author of an object can act on it at once; the others are left to audits.
"""

VALIDATED_RULES = frozenset(
    entry.id for entry in ADVICE_ENTRIES if entry.scope is RuleScope.EVERYWHERE
)
"""The policy rules by which the validating webhook may deny objects."""

AUDITED_RULES = frozenset(entry.id for entry in ADVICE_ENTRIES if entry.scope is RuleScope.AUDIT)
"""The policy rules that admission does not check, so that they deny no object."""


def explain_command(rule: str) -> str:
    """Give the command that explains a rule; it works without a network."""
    return f"evenspread validate --explain {rule}"
