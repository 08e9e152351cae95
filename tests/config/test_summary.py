from collections.abc import Mapping

import pytest

from tests.build import FakeFacts, profile
from tests.build import policy as make_profiles
from tests.config.configs import HARD, SOFT, check, one_profile
from webhook.config import summary
from webhook.config.configuration import policy as make_policy
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import parse_version
from webhook.policy.defaulting.inject import SkipReason
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS, Policy
from webhook.policy.facts import NoFacts, TaintedDomains
from webhook.policy.model import HOSTNAME, ZONE, Node, Taint

TAINT = Taint(key="control-plane", effect="NoSchedule")

GATES = resolve(parse_version("1.36"), {})


def policy(text: str) -> Policy:
    return make_policy(check(text), GATES)


class Nodes(NoFacts):
    """Schedulable nodes, of which ``carriers`` have every label, with ``domains`` values."""

    def __init__(self, nodes: int, carriers: int, domains: int, *tainted: str) -> None:
        self._nodes, self._carriers, self._domains = nodes, carriers, domains
        self._tainted = TaintedDomains(((TAINT,),), tainted)

    def schedulable_nodes(self) -> int:
        return self._nodes

    def nodes_with(self, _topology_key: str) -> int:
        return self._carriers

    def domains(self, _topology_key: str) -> list[str]:
        return [*map(str, range(self._domains))]

    def tainted_domains(self, _topology_key: str) -> list[TaintedDomains]:
        return [self._tainted] if self._tainted.values else []


LACKING = (
    "profile 'a': the hard default on zone keeps pods off 2 of 5 schedulable nodes, which lack "
    "that label: label them, or write whenUnsatisfiable: ScheduleAnyway"
)
TOO_FEW = (
    "profile 'a': the hard default on zone requires 3 domains, and the schedulable nodes have 2: "
    "pods above 1 in each stay Pending; lower minDomains, or add nodes"
)

TAINTED = (
    "profile 'a': the hard default on zone counts 1 domain of nodes with taints as empty "
    "(control-plane:NoSchedule): of pods that do not tolerate these, every other domain takes 1 "
    "pod at most, and the others stay Pending; write nodeTaintsPolicy: Honor"
)

KEYLESS = (
    "profile 'a': the soft default on zone spreads no pod, as none of 5 schedulable nodes has that "
    "label: label them, or remove the default"
)

DOUBTS: dict[str, tuple[str, NoFacts, list[str]]] = {
    "all nodes carry the label": (f"{{{HARD}}}", Nodes(5, 5, 2), []),
    "some nodes lack the label": (f"{{{HARD}}}", Nodes(5, 3, 2), [LACKING]),
    "fewer domains than minDomains": (f"{{{HARD}, minDomains: 3}}", Nodes(5, 5, 2), [TOO_FEW]),
    "a domain of tainted nodes": (f"{{{HARD}}}", Nodes(3, 3, 3, "c"), [TAINTED]),
    "a domain of tainted nodes that does not count": (
        f"{{{HARD}, nodeTaintsPolicy: Honor}}",
        Nodes(3, 3, 3, "c"),
        [],
    ),
    "tainted nodes alone": (f"{{{HARD}}}", Nodes(1, 1, 1, "c"), []),
    "both": (
        f"{{{HARD}, minDomains: 3}}",
        Nodes(5, 3, 2),
        [f"{LACKING} without minDomains", TOO_FEW],
    ),
    "a soft default over the same label": (
        f"{{{HARD}}}, {{{HARD.replace('DoNotSchedule', 'ScheduleAnyway')}}}",
        Nodes(5, 3, 2),
        [
            LACKING.partition("write")[0]
            + "remove this default: another one already spreads softly over that label"
        ],
    ),
    "no node carries the label": (f"{{{HARD}}}", Nodes(5, 0, 0), [LACKING.replace("2 of", "5 of")]),
    "a soft default": (SOFT, Nodes(5, 1, 1), []),
    "a soft default over a label of no node": (SOFT, Nodes(5, 0, 0), [KEYLESS]),
    "unknown nodes": (f"{{{HARD}, minDomains: 3}}", NoFacts(), []),
}


@pytest.mark.parametrize(("entry", "facts", "sentences"), DOUBTS.values(), ids=DOUBTS.keys())
def test_hard_defaults_are_compared_with_the_nodes(
    entry: str, facts: NoFacts, sentences: list[str]
) -> None:
    in_force = policy(one_profile(f"defaultConstraints: [{entry}]"))

    assert summary.advise(in_force, facts) == sentences


def test_the_label_that_a_soft_default_was_probably_meant_for_is_named() -> None:
    facts = FakeFacts(nodes=[Node("a1", {ZONE: "zone-a"})])

    (sentence,) = summary.advise(policy(one_profile(f"defaultConstraints: [{SOFT}]")), facts)

    assert sentence.endswith(
        f"as none of 1 schedulable node has that label: write topologyKey: {ZONE}"
    )


def test_the_zone_that_system_leaves_out_is_no_default_over_a_label_of_no_node() -> None:
    facts = FakeFacts(nodes=[Node("a1", {HOSTNAME: "a1"})])

    for system, sentences in ((True, 0), (False, 1)):
        judged = profile(constraints=SYSTEM_CONSTRAINTS, system=system)

        assert len(summary.advise(make_profiles(judged), facts)) == sentences


def test_matchlabelkeys_that_no_pod_carries_are_found_without_nodes() -> None:
    entry = f"{{{SOFT[1:-1]}, matchLabelKeys: [pod-template-hsh]}}"
    in_force = policy(one_profile(f"defaultConstraints: [{entry}]"))

    for facts in (NoFacts(), Nodes(5, 5, 2)):
        (sentence,) = summary.advise(in_force, facts)

        assert sentence.endswith("did you mean pod-template-hash?")


def test_owners_that_control_no_pod_are_found_without_nodes() -> None:
    in_force = policy(
        one_profile(f"match: {{ownerKinds: [Replicaset]}}\n  defaultConstraints: [{SOFT}]")
    )

    (sentence,) = summary.advise(in_force, NoFacts())

    assert sentence.endswith("did you mean ReplicaSet?")


def test_profiles_are_shown_with_the_pods_they_are_for() -> None:
    (profile,) = policy(
        one_profile(
            "match:\n"
            "    namespaceSelector: {matchLabels: {tier: prod}}\n"
            "    objectSelector: {matchExpressions: [{key: a, operator: Exists}]}\n"
            "    ownerKinds: [StatefulSet, ReplicaSet]\n"
            f"  defaultConstraints: [{SOFT}]"
        )
    ).profiles

    assert summary.describe_pods(profile) == (
        "schedulerName default-scheduler; namespace tier=prod; labels a; "
        "owner ReplicaSet or StatefulSet"
    )


def test_the_description_of_a_spread_policy_has_its_order() -> None:
    in_force = policy(one_profile("defaultConstraints: []"))
    (profile,) = in_force.profiles

    described = summary.describe_profile(in_force, profile, {"a": 7})

    assert (described["kind"], described["order"]) == ("SpreadPolicy", 7)
    assert described.keys() - summary.describe_profile(in_force, profile, {}).keys() == {
        "kind",
        "order",
    }


def test_the_example_gets_the_constraints_of_the_first_profile() -> None:
    selector = "{matchExpressions: [{key: tier, operator: DoesNotExist}]}"
    match = f"match: {{namespaceSelector: {selector}}}"
    text = one_profile(f"{match}\n  defaultConstraints: [{SOFT}]")

    injection = summary.inject_example(policy(text))

    assert injection.profile == "a"
    assert not injection.skip


class Prod(NoFacts):
    """A cluster of which one Namespace is known."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        return {"tier": "prod"} if namespace == "prod" else None


@pytest.mark.parametrize(
    ("namespace", "skip"),
    [
        ("prod", SkipReason.NONE),
        ("ops", SkipReason.NO_PROFILE),
        ("kube-system", SkipReason.EXEMPT_NAMESPACE),
    ],
)
def test_the_example_is_created_in_a_namespace(namespace: str, skip: SkipReason) -> None:
    match = "match: {namespaceSelector: {matchLabels: {tier: prod}}}"
    rules = policy(one_profile(f"{match}\n  defaultConstraints: [{SOFT}]"))

    assert summary.inject_example(rules, namespace, Prod()).skip is skip


def test_gates_are_shown_with_what_they_guard() -> None:
    rows = {row.name: row for row in summary.gate_table(GATES)}

    row = rows["MinDomainsInPodTopologySpread"]
    assert (row.stage, row.on, row.guards) == ("GA", True, "`minDomains`")


def test_a_profile_without_conditions_is_for_its_schedulers() -> None:
    (profile,) = policy(one_profile("defaultConstraints: []")).profiles

    assert summary.describe_pods(profile) == "schedulerName default-scheduler"


def test_configured_rules_are_listed_with_their_defaults() -> None:
    rules = "{TSC110: deny, TSC101: {action: warn, exemptible: false}, TSC102: warn}"

    assert summary.configured_rules(policy(f"rules: {rules}")) == [
        ("TSC101", "warn", "warn", False),
        ("TSC110", "deny", "audit", True),
    ]
    assert summary.configured_rules(policy("mode: apply")) == []


def test_configured_kinds_are_listed_with_their_places() -> None:
    shipped = "{group: argoproj.io, kind: Rollout, path: spec.template}"
    own = "{group: g, kind: K, path: 'spec.jobs[*].template'}"

    found = summary.configured_kinds(policy(f"podTemplates: [{shipped}, {own}]"))

    assert found == [("K.g", ["spec.jobs[*].template"])]


def test_the_rules_of_a_profile_are_listed_with_those_of_the_configuration() -> None:
    rules = "rules: {TSC110: off, TSC101: {exemptible: false}}\n  defaultConstraints: []"
    in_force = policy(one_profile(rules) + "rules: {TSC110: warn}")

    (profile,) = in_force.profiles
    assert summary.profile_rules(in_force, profile) == [
        ("TSC101", "warn", "warn", False),
        ("TSC110", "off", "warn", True),
    ]
