import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.build import (
    Json,
    deployment,
    facts,
    job_set,
    pod,
    policy,
    review_body,
    spread,
    workload,
)
from webhook.admission import decode, encode
from webhook.admission.large import LARGE, LONGEST_PART, MOST_MEMBERS, members_in, reduce_review
from webhook.errors import ReviewError
from webhook.policy.kinds import (
    BUILT_IN_TEMPLATES,
    JOB_SET,
    LEADER_WORKER_SET,
    POD,
    SHIPPED_TEMPLATES,
)
from webhook.policy.model import GroupKind
from webhook.policy.request import Hook
from webhook.policy.verdict import judge

ROLLOUT = GroupKind("argoproj.io", "Rollout")
CLUSTER = GroupKind("postgresql.cnpg.io", "Cluster")
TEMPLATES = {**BUILT_IN_TEMPLATES, ROLLOUT: ("spec", "pod-template", "of", "rollout")}
PADDING = {"managedFields": [{"x": "y" * LARGE}]}


def padded(obj: Json) -> Json:
    """The same object with metadata that make its review large, and that have no reader."""
    return {**obj, "metadata": {**obj["metadata"], **PADDING}}


def answered(body: bytes, hook: Hook) -> Any:
    request = decode(body, TEMPLATES)
    return json.loads(encode(request, judge(request, hook, policy(), facts())))


@pytest.mark.parametrize("kind", BUILT_IN_TEMPLATES, ids=str)
@pytest.mark.parametrize("hook", Hook)
@pytest.mark.parametrize("skew", [0, 1])
def test_a_large_review_gets_the_answer_of_a_small_one(
    kind: GroupKind, hook: Hook, skew: int
) -> None:
    listed = spread(maxSkew=skew)
    obj = pod(listed) if kind == POD else workload(kind, listed)

    small, large = review_body(obj), review_body(padded(obj))

    assert len(small) < LARGE < len(large)
    assert answered(large, hook) == answered(small, hook)


@given(strategies.pods.filter(lambda obj: obj["spec"] and obj["metadata"]), st.sampled_from(Hook))
def test_a_reduced_review_gets_the_answer_of_the_whole(obj: Json, hook: Hook) -> None:
    body = review_body(obj)

    assert answered(reduce_review(body, ()), hook) == answered(body, hook)


def test_an_update_keeps_the_object_that_it_replaces() -> None:
    body = review_body(padded(deployment()), old=padded(deployment(spread())))

    request = decode(body)

    assert request.old is not None
    assert request.old.constraints
    assert len(request.body) < 5000


def test_a_custom_kind_is_read_where_it_holds_its_template() -> None:
    inner = {"metadata": {"labels": {"a": "b"}}, "spec": {"topologySpreadConstraints": [spread()]}}
    obj = {"metadata": {"name": "web"}, "spec": {"pod-template": {"of": {"rollout": inner}}}}

    request = decode(review_body(padded(obj), kind=ROLLOUT), TEMPLATES)

    assert request.template is not None
    assert (request.template.labels, len(request.template.constraints)) == ({"a": "b"}, 1)


@pytest.mark.parametrize("spec", [1, [], {"template": "text"}])
def test_a_part_of_a_wrong_type_is_refused_as_in_a_small_review(spec: Any) -> None:
    obj = padded({"metadata": {"name": "web"}, "spec": spec})

    with pytest.raises(ReviewError, match=r"the object cannot be read: Expected `?object"):
        decode(review_body(obj, kind=GroupKind("apps", "Deployment")))


MANY = {
    "constraints": b'"topologySpreadConstraints":[' + b"{}," * MOST_MEMBERS + b"{}]",
    "tolerations": b'"tolerations":[' + b"{}," * MOST_MEMBERS + b"{}]",
    "the last of two": b'"tolerations":[],"tolerations":[' + b"{}," * MOST_MEMBERS + b"{}]",
}


@pytest.mark.parametrize("members", MANY.values(), ids=MANY)
def test_more_members_than_are_decoded_are_denied(members: bytes) -> None:
    body = review_body(pod()).replace(b'"spec":{', b'"spec":{' + members + b',"x":0', 1)
    json.loads(body)

    answer = answered(body, Hook.MUTATE)["response"]

    assert answer["allowed"] is False
    assert answer["status"]["code"] == 400
    assert f"more than {MOST_MEMBERS} members" in answer["status"]["message"]


def test_members_without_a_reader_do_not_count() -> None:
    body = review_body({**pod(spread()), "x": [[0]] * MOST_MEMBERS})

    assert answered(body, Hook.MUTATE)["response"]["allowed"] is True


def test_members_are_counted_from_above() -> None:
    assert members_in(b'{"a": [1, 2, {"b": "c"}]}') == 6


def test_a_list_of_constraints_that_is_too_long_is_denied_and_not_overlooked() -> None:
    listed = spread(labelSelector={"matchLabels": {"a": "x" * LONGEST_PART}})

    answer = answered(review_body(pod(listed)), Hook.MUTATE)["response"]

    assert answer["allowed"] is False
    assert "topologySpreadConstraints has more than" in answer["status"]["message"]


def test_containers_that_are_too_long_count_as_absent() -> None:
    argument = "<" * LONGEST_PART
    body = review_body(pod(spread(maxSkew=0), containers=[{"name": "a", "args": [argument]}]))

    assert len(decode(body).body) < 2000
    assert answered(body, Hook.MUTATE)["response"]["allowed"] is False


def test_as_many_values_as_etcd_stores_are_judged() -> None:
    values = [f"{number:06d}" for number in range(390_000)]
    good = {"matchExpressions": [{"key": "a", "operator": "In", "values": values}]}
    bad = {"matchExpressions": [{"key": "a", "operator": "In", "values": [*values, "-"]}]}

    allowed = [
        answered(review_body(pod(spread(labelSelector=selector))), Hook.MUTATE)["response"][
            "allowed"
        ]
        for selector in (good, bad)
    ]

    assert allowed == [True, False]


def test_a_review_without_a_request_stays_without_one() -> None:
    assert json.loads(reduce_review(b'{"kind": "AdmissionReview"}', ()))["request"] is None


SEVERAL = {**TEMPLATES, **SHIPPED_TEMPLATES, CLUSTER: ("spec", "topologySpreadConstraints")}

LARGE_KINDS: dict[str, tuple[GroupKind, Json]] = {
    "a list of templates": (JOB_SET, job_set(a=[spread(maxSkew=0)], b=[], c=[spread()])),
    "two templates": (
        LEADER_WORKER_SET,
        {
            "metadata": {"name": "llm"},
            "spec": {
                "replicas": 3,
                "leaderWorkerTemplate": {
                    "size": 2,
                    "leaderTemplate": pod(spread()),
                    "workerTemplate": pod(spread(maxSkew=0)),
                },
            },
        },
    ),
    "a bare list": (
        CLUSTER,
        {
            "metadata": {"name": "db"},
            "spec": {"topologySpreadConstraints": [spread(maxSkew=0)], "unread": "y"},
        },
    ),
    "null for a list": (JOB_SET, {"metadata": {"name": "x"}, "spec": {"replicatedJobs": None}}),
}


@pytest.mark.parametrize(("kind", "obj"), LARGE_KINDS.values(), ids=LARGE_KINDS.keys())
def test_large_kinds_with_several_places_get_the_answer_of_small_ones(
    kind: GroupKind, obj: Json
) -> None:
    def response(body: bytes) -> Any:
        request = decode(body, SEVERAL)
        return json.loads(encode(request, judge(request, Hook.VALIDATE, policy(), facts())))

    small, large = (review_body(one, kind=kind) for one in (obj, padded(obj)))

    assert response(large) == response(small)


def test_a_list_in_a_list_that_is_too_long_is_unreadable() -> None:
    long = job_set(a=[spread(topologyKey="x" * LONGEST_PART)])

    found = decode(review_body(long, kind=JOB_SET), SEVERAL)

    expected = f"topologySpreadConstraints has more than {LONGEST_PART} bytes"
    assert found.unreadable == expected
