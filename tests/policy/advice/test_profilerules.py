from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import (
    NAMESPACE,
    FakeFacts,
    Json,
    custom,
    deployment,
    owned_by,
    pod,
    policy,
    profile,
    request,
    selector,
    spread,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.profilerules import apply_profile, find_request_policy
from webhook.policy.advice.subject import Subject, SubjectPod, SubjectSpec
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.policy.facts import Facts
from webhook.policy.model import ObjectMeta
from webhook.policy.paths import CONSTRAINTS_IN_POD
from webhook.policy.request import AdmissionRequest
from webhook.policy.rule_entry import Action

DENIES: Mapping[str, Action] = {"TSC101": Action.DENY}
PROD = FakeFacts(namespaces={NAMESPACE: {"tier": "prod"}})


def ruled(**changes: Any) -> Profile:
    """Build a profile that denies by TSC101."""
    return profile(**{"actions": DENIES, **changes})


# object, profiles, whether their rule is in force
FITTING: dict[str, tuple[Json, tuple[Profile, ...], bool]] = {
    "every pod": (pod(), (ruled(),), True),
    "no profile": (pod(), (), False),
    "a pod with constraints of its own": (pod(spread()), (ruled(),), True),
    "a pod that skips defaults": (
        pod(labels={"app": "web", "evenspread.io/skip": "true"}),
        (ruled(),),
        True,
    ),
    "the pods of a workload, by the controller that it creates": (
        deployment(),
        (ruled(owner_kinds=frozenset({"ReplicaSet"})),),
        True,
    ),
    "the object itself, whose pods another one creates": (
        deployment(),
        (ruled(owner_kinds=frozenset({"Deployment"})),),
        False,
    ),
    "a pod by its controller": (
        pod(owner=owned_by("ReplicaSet")),
        (ruled(owner_kinds=frozenset({"ReplicaSet"})),),
        True,
    ),
    "the labels of the template": (
        deployment(),
        (ruled(object_selector=selector(app="web")),),
        True,
    ),
    "other labels": (deployment(), (ruled(object_selector=selector(app="api")),), False),
    "its namespace": (deployment(), (ruled(namespace_selector=selector(tier="prod")),), True),
    "another namespace": (deployment(), (ruled(namespace_selector=selector(tier="x")),), False),
    "a pod of an earlier profile": (pod(), (profile(name="first"), ruled()), False),
    "a pod of another scheduler": (pod(schedulerName="batch"), (ruled(),), False),
}


def subject_of(review: AdmissionRequest) -> Subject:
    pod = review.template
    assert pod is not None
    assert pod.spec is not None
    spec = SubjectSpec(
        topology_spread_constraints=pod.spec.topology_spread_constraints,
        scheduler_name=pod.spec.scheduler_name,
    )
    return Subject(
        kind=review.kind,
        pod=SubjectPod(pod.metadata, spec),
        path=review.path or (),
        metadata=review.metadata or ObjectMeta(),
        namespace=review.namespace,
    )


def of_subject(review: AdmissionRequest, in_force: Policy, facts: Facts) -> Policy:
    return apply_profile(AdviceContext(in_force, facts), subject_of(review)).policy


@pytest.mark.parametrize("find", [find_request_policy, of_subject])
@pytest.mark.parametrize(("obj", "profiles", "fits"), FITTING.values(), ids=FITTING.keys())
def test_the_first_profile_that_fits_its_pods_decides(
    find: Any, obj: Json, profiles: tuple[Profile, ...], fits: bool
) -> None:
    in_force = policy(*profiles, exempt_namespaces=frozenset({NAMESPACE}))

    found = find(request(obj), in_force, PROD)

    assert (found.actions["TSC101"] is Action.DENY) is fits
    assert found.actions["TSC102"] is in_force.actions["TSC102"]


@pytest.mark.parametrize("find", [find_request_policy, of_subject])
def test_a_bare_list_of_constraints_has_the_rules_of_the_policy(find: Any) -> None:
    bare = custom(deployment(), path=CONSTRAINTS_IN_POD)
    in_force = policy(ruled())

    assert find(bare, in_force, PROD) is in_force


def test_without_rules_of_profiles_the_policy_stays() -> None:
    in_force = policy(profile())

    assert find_request_policy(request(pod()), in_force, PROD) is in_force
    context = AdviceContext(in_force, PROD)
    assert apply_profile(context, subject_of(request(pod()))) is context
    assert find_request_policy(replace(request(pod()), template=None), in_force, PROD) is in_force
