"""Which rules judge the defaults of a profile."""

import pytest
from msgspec.structs import replace

from tests.build import Json, default, policy, profile, spread
from tests.policy.advice.subjects import audit, deployed, running, subject, workload, zones
from webhook.policy.advice.advise import advise
from webhook.policy.advice.profiledefaults import find_unfit_defaults
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.storage import StorageClass
from webhook.policy.advice.subject import Subject
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import Merge, Policy, ScaleDown
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, Constraint, Node
from webhook.policy.rule_entry import Action

WEB = {"app": "web"}
PREFIX = "with the defaults of profile cluster, "
CHANGE = "# change the defaults of profile cluster"
EARLY = StorageClass(name="early", provisioner="ebs.csi.aws.com")
ZONES = default(topology_key=ZONE, when_unsatisfiable="DoNotSchedule")
HOSTS = default(topology_key=HOSTNAME, when_unsatisfiable="DoNotSchedule")
UNEVEN, EVEN = zones("a1", "b1", "b2", "b3"), zones("a1", "b1", "c1")
GANG: Json = {"schedulingGroup": {"podGroupName": "workers"}}
OWN = (spread(), spread(topologyKey=HOSTNAME))
RANGE = ReplicaRange(2, 12, "HorizontalPodAutoscaler/web")


def giving(*constraints: Constraint, **changes: object) -> Policy:
    return policy(profile(constraints=constraints, merge=Merge.PER_TOPOLOGY_KEY, **changes))


def stateful(*constraints: Json) -> Subject:
    claims = [{"spec": {"storageClassName": "early"}}]
    return subject(
        workload(*constraints, kind=STATEFUL_SET, volumeClaimTemplates=claims, replicas=3)
    )


def scaled(*constraints: Json) -> Subject:
    return replace(deployed(*constraints), scaling=RANGE)


UNEVEN_PODS = (running("a1", "a1", "b1", labels=WEB),)
GIVING = giving(ZONES, HOSTS)
GANGS = giving(ZONES, gangs=True)

# subject, policy, nodes, rules of the findings
CASES: dict[str, tuple[Subject, Policy, list[Node], list[str]]] = {
    "two that exclude each other": (deployed(replicas=8), GIVING, UNEVEN, ["TSC109"]),
    "one that excludes one of its own": (deployed(OWN[1], replicas=8), GIVING, UNEVEN, ["TSC109"]),
    "two of its own that exclude each other": (
        deployed(*OWN, replicas=8), giving(replace(HOSTS, topology_key="rack")),
        [replace(one, labels={**one.labels, "rack": one.name}) for one in UNEVEN], [],
    ),
    "volumes of pods that run unevenly": (
        replace(stateful(), running=UNEVEN_PODS), giving(ZONES), EVEN, ["TSC119"]
    ),
    "volumes that choose a zone first": (stateful(), giving(ZONES), EVEN, ["TSC108"]),
    "nodes in place of zones": (stateful(), giving(HOSTS), EVEN, []),
    "its own constraint on zones, beside volumes": (stateful(OWN[0]), GIVING, EVEN, []),
    "a gang": (deployed(template_spec=GANG), GANGS, EVEN, ["TSC121"]),
    "a gang without defaults": (deployed(template_spec=GANG), giving(ZONES), EVEN, []),
    "a scale-down": (scaled(), giving(ZONES), EVEN, ["TSC118"]),
    "a scale-down that also breaks a constraint of its own": (scaled(OWN[0]), GIVING, EVEN, []),
    "a scale-down of ranked pods": (
        scaled(), giving(ZONES, scale_down=ScaleDown.KEEP_SPREAD), EVEN, []
    ),
    "a skew that never binds": (deployed(), giving(replace(ZONES, max_skew=6)), EVEN, []),
}  # fmt: skip


@pytest.mark.parametrize(
    ("judged", "config", "nodes", "expected"), CASES.values(), ids=CASES.keys()
)
def test_rules_that_judge_defaults(
    judged: Subject, config: Policy, nodes: list[Node], expected: list[str]
) -> None:
    context = audit(nodes, judged.running, storage_classes=(EARLY,), config=config, services=WEB)

    found = list(find_unfit_defaults(judged, context, POLICY_RULES))

    assert [one.rule for one in found] == expected
    assert all(one.problem.startswith(PREFIX) for one in found)


# as above, and what is suggested
CURES: dict[str, tuple[Subject, Policy, list[Node], str]] = {
    "other constraints": (deployed(replicas=8), GIVING, UNEVEN, CHANGE),
    "another StorageClass": (
        stateful(), giving(ZONES), EVEN,
        ("# use a StorageClass with volumeBindingMode: WaitForFirstConsumer, which creates the "
         "volume where the pod is placed; the constraint is in profile cluster"),
    ),
    "ranks": (
        scaled(), giving(ZONES), EVEN, "# in the profile of these pods: scaleDown: KeepSpread"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "config", "nodes", "instead"), CURES.values(), ids=CURES.keys())
def test_what_to_do_about_defaults(
    judged: Subject, config: Policy, nodes: list[Node], instead: str
) -> None:
    context = audit(nodes, storage_classes=(EARLY,), config=config, services=WEB)

    (found,) = find_unfit_defaults(judged, context, POLICY_RULES)

    assert found.instead == instead


def test_uneven_pods_that_have_the_defaults_are_a_part_of_the_rollout_that_cannot_finish() -> None:
    """TSC114 suggests the same."""
    pods = (running("a1", "a1", "b1", labels=WEB, constraints=(spread(topologyKey=ZONE),)),)
    judged = replace(stateful(), running=pods)
    alone = replace(giving(ZONES), actions={**DEFAULT_ACTIONS, "TSC119": Action.OFF})

    for config, rule in ((giving(ZONES), "TSC119"), (alone, "TSC114")):
        context = audit(EVEN, pods, storage_classes=(EARLY,), config=config, services=WEB)
        advice = advise(judged, context)

        rules = {one.rule for one in (*advice.warned, *advice.audited)}
        assert rules & {"TSC114", "TSC119"} == {rule}
