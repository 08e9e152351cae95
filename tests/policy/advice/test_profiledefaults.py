"""Defaults of a profile that would keep the pods of a workload Pending."""

import pytest
from msgspec.structs import replace

from tests.build import Json, default, pod, policy, profile, spread
from tests.policy.advice.subjects import (
    GPU,
    admission,
    audit,
    deployed,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.advise import advise
from webhook.policy.advice.findings import WAIT_FOR_NODES
from webhook.policy.advice.profiledefaults import find_unfit_defaults
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.advice.subject import Subject
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import Merge, Mode, Policy
from webhook.policy.kinds import DEPLOYMENT, JOB, STATEFUL_SET
from webhook.policy.model import ZONE, Constraint, GroupKind
from webhook.policy.rule_entry import Action

HARD = "DoNotSchedule"
WEB = {"app": "web"}
RACK = default(topology_key="rack", when_unsatisfiable=HARD)
SOFT, TYPO = default(topology_key=ZONE), default(topology_key="zone")
ZONES = default(topology_key=ZONE, when_unsatisfiable=HARD)


def giving(*constraints: Constraint) -> Policy:
    """Make a policy with these defaults, also for pods with constraints on other keys."""
    return policy(profile(constraints=constraints, merge=Merge.PER_TOPOLOGY_KEY))


GIVING = giving(RACK)
HOST = spread(topologyKey="kubernetes.io/hostname")
TSC106_ALONE = [row for row in POLICY_RULES if row.id == "TSC106"]
OFF = {**DEFAULT_ACTIONS, "TSC103": Action.OFF, "TSC106": Action.OFF}

# subject, policy, rules of the findings
CASES: dict[str, tuple[Subject, Policy, list[str]]] = {
    "a key that is on no node": (deployed(), GIVING, ["TSC103"]),
    "beside its own constraint": (deployed(HOST), GIVING, ["TSC103"]),
    "more domains than there are": (
        deployed(), giving(replace(ZONES, min_domains=5)), ["TSC104"]
    ),
    "a soft default": (deployed(), giving(SOFT), []),
    "a soft default on a key that is on no node": (deployed(), giving(SOFT, TYPO), ["TSC103"]),
    "the same for a workload with a constraint on another such key": (
        deployed(spread(topologyKey="rack")), giving(TYPO), ["TSC103"]
    ),
    "a default that its pods can keep": (deployed(), giving(ZONES), []),
    "its own constraint has the same problem": (
        deployed(spread(topologyKey="rack"), HOST), giving(RACK, ZONES), []
    ),
    "no profile": (deployed(), policy(), []),
    "recommend mode": (deployed(), replace(GIVING, mode=Mode.RECOMMEND), []),
    "rules that are off": (deployed(), replace(GIVING, actions=OFF), []),
    "a pod, which has its defaults already": (subject(pod()), GIVING, []),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "config", "expected"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("build", [audit, admission])
def test_defaults_that_keep_pods_pending(
    judged: Subject, config: Policy, expected: list[str], build: object
) -> None:
    context = (audit if build is audit else admission)(config=config, services=WEB)

    found = list(find_unfit_defaults(judged, context, POLICY_RULES))

    assert [finding.rule for finding in found] == expected
    assert {finding.field for finding in found} <= {judged.list_path}


def test_no_node_accepts_the_next_pod_with_the_defaults() -> None:
    pods = running("a1", labels=WEB)
    context = audit(zones("a1"), [pods], config=giving(replace(ZONES, min_domains=2)), services=WEB)

    (found,) = find_unfit_defaults(deployed(replicas=1), context, TSC106_ALONE)

    assert found.instead == "# change the defaults of profile cluster"
    assert found.problem.startswith("with the defaults of profile cluster, the one node")


GPU_IN_C = [*zones("a1", "b1"), replace(zones("c1")[0], taints=(GPU,))]
IGNORING = replace(ZONES, node_affinity_policy="Ignore")
SELECTING: Json = {"nodeSelector": {ZONE: "zone-a"}}


@pytest.mark.parametrize("build", [audit, admission])
def test_closed_domains_count_for_defaults(build: object) -> None:
    make = audit if build is audit else admission
    for judged, default_, nodes, rule in (
        (deployed(replicas=4), ZONES, GPU_IN_C, "TSC105"),
        (deployed(replicas=4, template_spec=SELECTING), IGNORING, zones("a1", "b1"), "TSC116"),
    ):
        context = make(nodes, config=giving(default_), services=WEB)

        (found,) = find_unfit_defaults(judged, context, POLICY_RULES)

        assert (found.rule, found.instead) == (rule, "# change the defaults of profile cluster")


def test_a_default_counts_each_revision_of_a_replica_set_apart() -> None:
    cordoned = [*zones("a1", "b1"), replace(zones("c1")[0], unschedulable=True)]
    labels = {**WEB, "pod-template-hash": "5d4"}
    pods = [running("a1", "b1", labels=labels)]
    context = audit(cordoned, pods, config=giving(ZONES), services=WEB)

    # A third pod is one of the same revision, or the first of a new one.
    for replicas, rules in ((3, ["TSC106"]), (2, [])):
        judged = replace(deployed(replicas=replicas), running=tuple(pods))
        found = find_unfit_defaults(judged, context, POLICY_RULES)
        assert [finding.rule for finding in found] == rules


def test_nodes_that_are_closed_for_now_are_no_defect_of_the_defaults() -> None:
    nodes, pods = zones("a1", "b1"), running("a1", labels=WEB)
    cordoned = [nodes[0], replace(nodes[1], unschedulable=True)]
    context = audit(cordoned, [pods], config=giving(ZONES), services=WEB)

    (found,) = find_unfit_defaults(deployed(), context, POLICY_RULES)

    assert (found.rule, found.instead) == ("TSC106", WAIT_FOR_NODES)


def test_defaults_are_changed_before_pods_get_them() -> None:
    pods = [running("a1", "b1", labels=WEB)]
    for nodes, first in (
        (zones("a1", "b1"), ""),
        (GPU_IN_C, "change the defaults of profile cluster; then: "),
    ):
        context = audit(nodes, pods, config=giving(ZONES), services=WEB)
        advice = advise(replace(deployed(replicas=4), running=tuple(pods)), context)

        (lacking,) = (one for one in advice.audited if one.rule == "TSC115")
        assert lacking.instead == f"# {first}kubectl rollout restart deployment/web -n shop"


def test_only_rules_that_run_are_checked() -> None:
    context = audit(config=GIVING, services=WEB)

    assert list(find_unfit_defaults(deployed(), context, ())) == []


def test_an_object_is_not_denied_for_the_defaults_of_a_profile() -> None:
    denying = {**DEFAULT_ACTIONS, "TSC103": Action.DENY}
    own: Json = spread(topologyKey="rack")

    for judged, denied in ((deployed(), []), (deployed(own), ["TSC103"])):
        context = audit(config=replace(GIVING, actions=denying), services=WEB)
        advice = advise(judged, context)

        assert [finding.rule for finding in advice.denied] == denied
        assert ("TSC103" in [finding.rule for finding in advice.warned]) is not bool(denied)


def test_the_key_that_nodes_have_is_suggested() -> None:
    for given in (TYPO, replace(TYPO, when_unsatisfiable=HARD)):
        context = audit(config=giving(given), services=WEB)

        (found,) = find_unfit_defaults(deployed(), context, POLICY_RULES)

        assert found.problem.endswith(f'topologyKey "zone" is on no node; {ZONE} is')
        assert found.instead == f"# change the defaults of profile cluster: topologyKey: {ZONE}"


NO_GPU = [replace(one, taints=(GPU,)) for one in zones("a1", "b1")]
CORDONED = [replace(one, unschedulable=True) for one in zones("a1", "b1")]
DISK: Json = {"nodeSelector": {"disk": "ssd"}}


@pytest.mark.parametrize("given", [ZONES, SOFT, IGNORING], ids=["hard", "soft", "ignoring"])
def test_pods_that_are_pending_without_the_defaults_blame_no_profile(given: Constraint) -> None:
    """They are reported as those of a workload with such a constraint are."""
    for nodes, spec in ((zones("a1", "b1"), DISK), (NO_GPU, {}), (CORDONED, {})):
        context = audit(nodes, config=giving(given), services=WEB)
        bare, own = deployed(template_spec=spec), deployed(HOST, template_spec=spec)

        (found,) = find_unfit_defaults(bare, context, TSC106_ALONE)

        assert found == advise(own, audit(nodes, services=WEB), TSC106_ALONE).audited[0]
        assert [*find_unfit_defaults(own, context, TSC106_ALONE)] == []


def test_such_pods_may_be_denied() -> None:
    denying = {**DEFAULT_ACTIONS, "TSC106": Action.DENY}
    config = replace(giving(ZONES), actions=denying)
    context = audit(zones("a1", "b1"), config=config, services=WEB)

    assert [one.rule for one in advise(deployed(template_spec=DISK), context).denied] == ["TSC106"]


def test_constraints_of_its_own_that_keep_the_next_pod_pending_blame_no_profile() -> None:
    pods = [running("a1", "b1", labels=WEB)]
    few = replace(default(topology_key="kubernetes.io/hostname"), when_unsatisfiable=HARD)
    context = audit(zones("a1", "b1"), pods, config=giving(replace(few, min_domains=3)))
    own = spread(topologyKey=ZONE, minDomains=3)
    judged = replace(deployed(own, replicas=4), running=tuple(pods))

    # With the default, its constraints reject the next pod for one reason more.
    assert len(advise(judged, context, TSC106_ALONE).audited) == 1
    assert [*find_unfit_defaults(judged, context, TSC106_ALONE)] == []


HASH, REVISION, NAME = (
    "pod-template-hash", "controller-revision-hash", "statefulset.kubernetes.io/pod-name"
)  # fmt: skip
PREFIX = "with the defaults of profile cluster, "
IGNORED = f"{PREFIX}its pods never carry {{}}, so kube-scheduler ignores it; they carry {{}}"
ALONE = f"{PREFIX}{NAME} has another value on each of its pods: "

# kind, matchLabelKeys of the default, beginning of the problem; empty for none
IGNORED_KEYS: dict[str, tuple[GroupKind, tuple[str, ...], str]] = {
    "no keys": (STATEFUL_SET, (), ""),
    "the key of another kind": (STATEFUL_SET, (HASH,), IGNORED.format(HASH, REVISION)),
    "a key for each kind": (STATEFUL_SET, (HASH, REVISION), ""),
    "a typing error": (
        DEPLOYMENT, ("pod-template-hsh",), IGNORED.format("pod-template-hsh", HASH)
    ),
    "a typing error beside the key of another kind": (
        DEPLOYMENT, (REVISION, "pod-template-hsh"), IGNORED.format(REVISION, HASH)
    ),
    "pods without revisions": (JOB, (HASH,), ""),
    "a key of which nothing is known": (DEPLOYMENT, ("tier",), ""),
    "a key by which every pod counts only itself": (STATEFUL_SET, (REVISION, NAME), ALONE),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "keys", "problem"), IGNORED_KEYS.values(), ids=IGNORED_KEYS.keys()
)
def test_keys_of_defaults_that_pods_never_carry(
    kind: GroupKind, keys: tuple[str, ...], problem: str
) -> None:
    judged = subject(workload(HOST, kind=kind))
    context = audit(config=giving(replace(ZONES, match_label_keys=keys)), services=WEB)

    found = list(find_unfit_defaults(judged, context, POLICY_RULES))

    assert [finding.rule for finding in found] == ["TSC117"] * bool(problem)
    assert all(finding.problem.startswith(problem) for finding in found)
    assert {(finding.field, finding.instead) for finding in found} <= {
        (judged.list_path, "# change the defaults of profile cluster")
    }


def test_ignored_keys_of_defaults_are_only_recorded() -> None:
    context = audit(config=giving(replace(ZONES, match_label_keys=(HASH,))), services=WEB)

    advice = advise(subject(workload(kind=STATEFUL_SET)), context)

    assert "TSC117" in [finding.rule for finding in advice.audited]
    assert "TSC117" not in [finding.rule for finding in advice.warned]


def test_ignored_keys_are_not_judged_if_the_rule_is_off() -> None:
    keys = giving(replace(ZONES, match_label_keys=(HASH,)))
    off = replace(keys, actions={**DEFAULT_ACTIONS, "TSC117": Action.OFF})
    judged = subject(workload(kind=STATEFUL_SET))

    assert not [*find_unfit_defaults(judged, audit(config=off, services=WEB), POLICY_RULES)]
    assert not [*find_unfit_defaults(judged, audit(), POLICY_RULES)]
