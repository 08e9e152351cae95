"""Effects of policies are those of the server's functions."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import default, gates, pod, policy, profile, selector, spread
from tests.cli.inputs.manifestclusters import cluster_of, workload
from webhook.admission.offline import answer_in_turn, build_creation
from webhook.cli.inputs.policyeffects import JudgedPod, PolicyJudge
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.cluster.facts import Cluster
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.errors import SourceError
from webhook.manifests import Document
from webhook.manifests.positions import DocumentText
from webhook.policy.defaulting.inject import SkipReason
from webhook.policy.defaulting.profiles import Mode, Policy, ScaleDown
from webhook.policy.kinds import DEPLOYMENT, POD, ROLLOUT
from webhook.policy.model import ZONE
from webhook.policy.request import Hook
from webhook.policy.rule_entry import Action

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True}
ZONES = profile(name="zones", constraints=(default(),))
POLICY = policy(ZONES)
UNCOUNTED = spread(labelSelector={"matchLabels": {"app": "other"}})  # TSC101
BROKEN = spread(maxSkew=0)
NULL = {key: value for key, value in spread().items() if key != "labelSelector"}


def facts() -> Cluster:
    """The facts of a cluster with a Service that selects the pods, and their ReplicaSet."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}},
    }
    return cluster_of(service).facts("shop")


FACTS = facts()


def created(*constraints: Any, **settings: Any) -> ApiPod:
    return msgspec.convert(pod(*constraints, owner=OWNER, **settings), ApiPod)


def judge(in_force: Policy, one: ApiPod) -> JudgedPod:
    return PolicyJudge(in_force).judge_pod(one, "shop", FACTS)


def object_of(*constraints: Any, kind: str = "Deployment", **spec: Any) -> ExplainSubject:
    value = workload(kind, **spec)
    value["spec"]["template"]["spec"]["topologySpreadConstraints"] = list(constraints)
    value.pop("apiVersion")  # as in a list of an API server
    value.pop("kind")
    group = ROLLOUT if kind == "Rollout" else DEPLOYMENT
    return ExplainSubject(group, ("spec", "template"), "shop", value, exists=True)


def test_a_pod_gets_the_defaults_of_its_profile() -> None:
    pod_after, effect = judge(POLICY, created())

    (constraint,) = effect.constraints
    assert constraint["topologyKey"] == ZONE
    assert constraint["labelSelector"] == {"matchLabels": {"app": "web"}}
    assert (effect.profile, effect.skip, effect.denied) == ("zones", SkipReason.NONE, ())
    assert effect.annotations.keys() == {"evenspread.io/defaults"}
    assert len(pod_after.constraints or ()) == 1


def test_a_pod_without_a_profile_has_the_reason() -> None:
    before = created()

    after, effect = judge(policy(), before)

    assert after is before
    assert (effect.profile, effect.skip) == ("", SkipReason.NO_PROFILE)
    assert (effect.constraints, effect.annotations) == ((), {})


def test_recommended_defaults_are_no_constraints() -> None:
    _, effect = judge(policy(replace(ZONES, mode=Mode.RECOMMEND)), created())

    assert effect.constraints == ()
    assert [one["topologyKey"] for one in effect.recommended] == [ZONE]


def test_labels_of_the_server_are_shown() -> None:
    keeping = policy(replace(ZONES, scale_down=ScaleDown.KEEP_SPREAD))

    _, effect = judge(keeping, created(labels={"app": "web", "evenspread.io/other": "x"}))

    assert effect.labels == {
        "evenspread.io/other": "x", "evenspread.io/scale-down": "keep-spread"
    }  # fmt: skip


def test_a_pod_that_breaks_an_api_rule_is_denied() -> None:
    before = created(BROKEN)

    after, effect = judge(POLICY, before)

    assert after is before
    (refusal,) = effect.denied
    assert refusal.field == "spec.topologySpreadConstraints[0].maxSkew"


# policy, action of the finding, whether the object is denied
ACTIONS: dict[str, tuple[Policy, Action, bool]] = {
    "by default": (policy(), Action.WARN, False),
    "denied": (policy(profile(actions={"TSC101": Action.DENY})), Action.DENY, True),
    "audited": (policy(profile(actions={"TSC101": Action.AUDIT})), Action.AUDIT, False),
    "a profile that only recommends": (
        policy(profile(actions={"TSC101": Action.DENY}, mode=Mode.RECOMMEND)), Action.WARN, False
    ),
    "a policy that only recommends": (
        policy(profile(actions={"TSC101": Action.DENY}), mode=Mode.RECOMMEND), Action.WARN, False
    ),
}  # fmt: skip


@pytest.mark.parametrize(("in_force", "action", "denied"), ACTIONS.values(), ids=ACTIONS.keys())
def test_findings_have_their_actions(in_force: Policy, action: Action, denied: bool) -> None:
    effect = PolicyJudge(in_force).judge_object(object_of(UNCOUNTED), FACTS)

    found = {(one.rule, one.action) for one in effect.findings if one.rule == "TSC101"}
    assert found == {("TSC101", action)}
    assert [one.rule for one in effect.denied] == (["TSC101"] if denied else [])


def test_a_rule_that_is_off_finds_nothing() -> None:
    off = policy(profile(actions={"TSC101": Action.OFF}))

    effect = PolicyJudge(off).judge_object(object_of(UNCOUNTED), FACTS)

    assert "TSC101" not in {one.rule for one in effect.findings}


def test_a_workload_that_breaks_an_api_rule_is_denied() -> None:
    effect = PolicyJudge(POLICY).judge_object(object_of(BROKEN), FACTS)

    assert [one.action for one in effect.findings] == [Action.DENY]
    assert len(effect.denied) == 1


def bare(*constraints: Any) -> ExplainSubject:
    return ExplainSubject(POD, (), "shop", pod(*constraints), exists=True)


def test_a_bare_pod_is_changed_and_advised_on() -> None:
    completing = policy(replace(ZONES, complete_selectors=True))

    (after, effect), whole = PolicyJudge(completing).judge_bare_pod(bare(NULL), FACTS)

    (constraint,) = effect.constraints
    assert constraint["labelSelector"] == {"matchLabels": {"app": "web"}}
    assert after.constraints is not None
    assert whole.denied == ()


def test_a_bare_pod_may_be_denied() -> None:
    (_, effect), whole = PolicyJudge(POLICY).judge_bare_pod(bare(BROKEN), FACTS)

    assert effect.denied == whole.denied
    assert len(whole.denied) == 1


def test_an_object_that_the_server_cannot_read_is_an_error() -> None:
    subject = object_of("no constraint", kind="Rollout")

    with pytest.raises(SourceError, match=r"Rollout shop/web: .*cannot be read"):
        PolicyJudge(POLICY).judge_object(subject, FACTS)


def test_a_review_that_cannot_be_decoded_is_an_error() -> None:
    subject = object_of("no constraint")

    with pytest.raises(SourceError, match="Deployment shop/web: the server would answer: "):
        PolicyJudge(POLICY).judge_object(subject, FACTS)


profiles = st.builds(
    profile,
    name=st.sampled_from("abc"),
    object_selector=st.sampled_from([None, selector(app="web"), selector(tier="x")]),
    constraints=st.lists(
        st.builds(
            default, max_skew=st.integers(1, 3), topology_key=st.sampled_from([ZONE, "rack"])
        ),
        max_size=2,
        unique_by=lambda one: one.topology_key,
    ).map(tuple),
    mode=st.sampled_from(Mode),
    complete_selectors=st.booleans(),
    actions=st.dictionaries(st.sampled_from(["TSC101", "TSC102"]), st.sampled_from(Action)),
)
policies = st.builds(
    lambda some, mode: Policy(gates=gates(), profiles=tuple(some), mode=mode),
    st.lists(profiles, max_size=3, unique_by=lambda one: one.name),
    st.sampled_from(Mode),
)
lists = st.lists(st.sampled_from([spread(), UNCOUNTED, NULL, BROKEN]), max_size=1)


@given(policies, lists)
def test_pods_are_what_the_server_answers(in_force: Policy, constraints: list[Any]) -> None:
    written = pod(*constraints, owner=OWNER)
    document = Document("pod.yaml", written, DocumentText("{}", 1, 0))
    review = build_creation(msgspec.structs.replace(document), "1")
    body = review.body["request"]
    body["namespace"] = "shop"
    results = answer_in_turn(review, tuple(Hook), in_force, FACTS)

    _, effect = judge(in_force, msgspec.convert(written, ApiPod))

    assert bool(effect.denied) == (not results[-1].verdict.allowed)
    if not effect.denied:
        stored = results[0].after
        assert list(effect.constraints) == stored["spec"].get("topologySpreadConstraints", [])
        assert effect.annotations == stored["metadata"].get("annotations", {})


@given(policies, lists)
def test_workloads_are_denied_as_the_server_does(in_force: Policy, constraints: list[Any]) -> None:
    value = workload("Deployment")
    value["spec"]["template"]["spec"]["topologySpreadConstraints"] = constraints
    document = Document("web.yaml", value, DocumentText("{}", 1, 0))
    results = answer_in_turn(build_creation(document, "1"), tuple(Hook), in_force, FACTS)

    effect = PolicyJudge(in_force).judge_object(object_of(*constraints), FACTS)

    assert bool(effect.denied) == (not results[-1].verdict.allowed)
    assert any(one.action is Action.DENY for one in effect.findings) == bool(effect.denied)
