import pytest

from tests.config.configs import HARD, SOFT, check, one_profile
from webhook import config
from webhook.config import summary
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import parse_version
from webhook.policy.defaulting.inject import SkipReason
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import NoFacts
from webhook.policy.model import ObjectMeta, PodSpec, PodTemplate

GATES = resolve(parse_version("1.36"), {})


def policy(text: str) -> Policy:
    return config.policy(check(text), GATES)


class Nodes(NoFacts):
    """Schedulable nodes, of which ``carriers`` have every label, with ``domains`` values."""

    def __init__(self, nodes: int, carriers: int, domains: int) -> None:
        self._nodes, self._carriers, self._domains = nodes, carriers, domains

    def schedulable_nodes(self) -> int:
        return self._nodes

    def nodes_with(self, _topology_key: str) -> int:
        return self._carriers

    def domains(self, _topology_key: str) -> int:
        return self._domains


LACKING = (
    "profile 'a': the hard default on zone keeps pods off 2 of 5 schedulable nodes, which lack "
    "that label: label them, or write whenUnsatisfiable: ScheduleAnyway"
)
TOO_FEW = (
    "profile 'a': the hard default on zone requires 3 domains, and the schedulable nodes have 2: "
    "pods above 1 in each stay Pending; lower minDomains, or add nodes"
)

DOUBTS = {
    "all nodes carry the label": (f"{{{HARD}}}", Nodes(5, 5, 2), []),
    "some nodes lack the label": (f"{{{HARD}}}", Nodes(5, 3, 2), [LACKING]),
    "fewer domains than minDomains": (f"{{{HARD}, minDomains: 3}}", Nodes(5, 5, 2), [TOO_FEW]),
    "both": (f"{{{HARD}, minDomains: 3}}", Nodes(5, 3, 2), [LACKING, TOO_FEW]),
    "a soft default": (SOFT, Nodes(5, 0, 0), []),
    "unknown nodes": (f"{{{HARD}, minDomains: 3}}", NoFacts(), []),
}


@pytest.mark.parametrize(("entry", "facts", "sentences"), DOUBTS.values(), ids=DOUBTS.keys())
def test_hard_defaults_are_compared_with_the_nodes(
    entry: str, facts: NoFacts, sentences: list[str]
) -> None:
    in_force = policy(one_profile(f"defaultConstraints: [{entry}]"))

    assert summary.advise(in_force, facts) == sentences


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


def test_the_example_gets_the_constraints_of_the_first_profile() -> None:
    selector = "{matchExpressions: [{key: tier, operator: DoesNotExist}]}"
    match = f"match: {{namespaceSelector: {selector}}}"
    text = one_profile(f"{match}\n  defaultConstraints: [{SOFT}]")

    injection = summary.example(policy(text))

    assert injection.profile == "a"
    assert not injection.skip


def test_a_pod_of_the_operator_is_evaluated_in_its_namespace() -> None:
    pod = PodTemplate(ObjectMeta(namespace="kube-system"), PodSpec())

    injection = summary.example(
        policy(one_profile(f"defaultConstraints: [{SOFT}]")), NoFacts(), pod
    )

    assert injection.skip is SkipReason.EXEMPT_NAMESPACE


def test_gates_are_shown_with_what_they_guard() -> None:
    rows = {row.name: row for row in summary.gate_table(GATES)}

    row = rows["MinDomainsInPodTopologySpread"]
    assert (row.stage, row.on, row.guards) == ("GA", True, "`minDomains`")


def test_a_profile_without_conditions_is_for_its_schedulers() -> None:
    (profile,) = policy(one_profile("defaultConstraints: []")).profiles

    assert summary.describe_pods(profile) == "schedulerName default-scheduler"
