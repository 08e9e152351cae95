"""Violations of the API rules, and their texts; ``test_verdict`` judges whole requests."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import (
    NAMESPACE,
    Json,
    deployment,
    facts,
    gates,
    owned_by,
    pod,
    policy,
    profile,
    request,
    spread,
    template,
    workload,
)
from tests.policy.mutated import BAD
from webhook.policy.api.fielderrors import FORBIDDEN, MOST_CAUSES, FieldError
from webhook.policy.api.rules import ApiViolation
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.inject import inject
from webhook.policy.defaulting.profiles import Merge, Mode
from webhook.policy.kinds import REPLICA_SET
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.violations import (
    describe_cause,
    describe_denial,
    find_refused_pods,
    find_stored_constraints,
    find_violations,
    merge_label_keys,
    warn_of_refused_pods,
    warn_of_violations,
)

KEYED = spread(matchLabelKeys=["app"])
MERGED = spread(
    matchLabelKeys=["app"],
    labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]},
)
NEW, OLD = policy(), policy(gates=gates(Version(1, 33)))

CASES: dict[str, tuple[AdmissionRequest, Hook, list[str]]] = {
    "no constraints": (request(pod()), Hook.MUTATE, []),
    "plain constraints": (request(pod(spread())), Hook.MUTATE, []),
    "a bad one": (request(pod(BAD)), Hook.MUTATE, ["TSC001"]),
    "an old list": (
        request(deployment(BAD), old=deployment(BAD)),
        Hook.MUTATE,
        [],
    ),
    "a bad list in place of a good one": (
        request(deployment(BAD), old=deployment(spread())),
        Hook.MUTATE,
        ["TSC001"],
    ),
    "a key that will be merged into a new pod": (request(pod(KEYED)), Hook.MUTATE, ["TSC008"]),
    "a key that was merged": (request(pod(MERGED)), Hook.VALIDATE, []),
}


def constraints_of(obj: Json) -> Any:
    return template(obj).constraints


@pytest.mark.parametrize(("requested", "hook", "expected"), CASES.values(), ids=CASES.keys())
def test_the_rules_judge_what_will_be_stored(
    requested: AdmissionRequest, hook: Hook, expected: list[str]
) -> None:
    assert requested.template is not None

    found = find_violations(requested, hook, NEW, requested.template.constraints)

    assert [violation.rule for violation in found] == expected


REFUSED: dict[str, tuple[AdmissionRequest, int]] = {
    "a new workload": (request(deployment(KEYED)), 1),
    "an update that adds the key": (request(deployment(KEYED), old=deployment(spread())), 1),
    "an update of something else": (request(deployment(KEYED), old=deployment(KEYED)), 0),
    "what a controller created": (
        request(workload(REPLICA_SET, KEYED, owner=owned_by("Deployment"))), 0
    ),
    "an accepted key": (request(deployment(spread(matchLabelKeys=["pod-template-hash"]))), 0),
    "a pod": (request(pod(KEYED)), 0),
}  # fmt: skip


@pytest.mark.parametrize(("requested", "number"), REFUSED.values(), ids=REFUSED.keys())
def test_the_pods_of_a_workload_are_refused(requested: AdmissionRequest, number: int) -> None:
    found = find_refused_pods(requested, NEW)

    assert [violation.rule for violation in found] == ["TSC008"] * number
    assert len(warn_of_refused_pods(found)) == number
    assert find_refused_pods(requested, OLD) == []


def test_an_object_without_a_template_has_no_pods() -> None:
    assert find_refused_pods(replace(request(deployment(KEYED)), template=None), NEW) == []


def test_keys_are_merged_if_the_version_does() -> None:
    keyed = pod(KEYED)

    assert merge_label_keys(constraints_of(keyed), template(keyed), OLD) == constraints_of(keyed)
    assert merge_label_keys(constraints_of(keyed), template(keyed), NEW) != constraints_of(keyed)


def test_a_denial_names_the_object_the_field_and_the_rule() -> None:
    requested = request(pod(BAD))
    violations = find_violations(requested, Hook.MUTATE, NEW, constraints_of(pod(BAD)))

    message = describe_denial(requested, violations)

    assert message.startswith('Pod "web-1" is invalid: spec.topologySpreadConstraints[0].maxSkew')
    assert message.endswith("(TSC001; to read more: evenspread validate --explain TSC001)")


@pytest.mark.parametrize("more", [0, 7])
def test_every_violation_is_a_warning_but_those_beyond_the_bound(more: int) -> None:
    requested = request(pod(BAD))
    (violation,) = find_violations(requested, Hook.MUTATE, NEW, constraints_of(pod(BAD)))

    warnings = warn_of_violations([violation] * (MOST_CAUSES + more))

    assert warnings[0].endswith("[TSC001]")
    assert len(warnings) == MOST_CAUSES + bool(more)
    assert not more or warnings[-1] == f"at least {more} more violations"


# mode of the policy, mode of the profile, constraints that are stored
STORED: dict[str, tuple[Mode, Mode, int]] = {
    "with the defaults": (Mode.APPLY, Mode.APPLY, 3),
    "without those that a profile recommends": (Mode.APPLY, Mode.RECOMMEND, 1),
    "as requested, if the policy recommends": (Mode.RECOMMEND, Mode.APPLY, 2),
}


@pytest.mark.parametrize(("general", "of_profile", "number"), STORED.values(), ids=STORED.keys())
def test_the_constraints_of_a_new_pod_are_stored(
    general: Mode, of_profile: Mode, number: int
) -> None:
    adding = profile(merge=Merge.PER_TOPOLOGY_KEY, mode=of_profile)
    in_force = policy(adding, mode=general)
    requested = request(pod(KEYED, spread(topologyKey="rack")))
    changed = template(pod(spread(topologyKey="rack", matchLabelKeys=["app"])))
    injection = inject(changed, NAMESPACE, in_force, facts())

    stored = find_stored_constraints(requested, changed, injection, in_force)

    assert len(stored) == number
    selector = stored[0].label_selector
    assert selector is not None
    assert [one.key for one in selector.match_expressions] == ["app"]


@pytest.mark.parametrize(("rule", "suffix"), [("TSC001", ""), ("TSC101", " [evenspread TSC101]")])
def test_the_cause_of_a_denial_names_a_policy_rule(rule: str, suffix: str) -> None:
    error = FieldError("spec", FORBIDDEN, "no pod matches")

    assert describe_cause(ApiViolation(rule, error)) == f"Forbidden: no pod matches{suffix}"
