"""The requests that are measured are what their rows say they are."""

import json
from pathlib import Path

import pytest

from tests.bench import reviews, servers
from tests.bench.measurements import AGAINST_FLOOR
from tests.bench.reviews import Request
from webhook import admission
from webhook.cluster.manifests import load_cluster
from webhook.config.configuration import policy
from webhook.config.documents import check
from webhook.config.gates import gates_in_force
from webhook.config.validation import read_document
from webhook.policy.api.versions import parse_version
from webhook.policy.request import Hook
from webhook.policy.verdict import Verdict, judge

HOOKS = {"/mutate": Hook.MUTATE, "/validate": Hook.VALIDATE}

SKIPPED = {
    "nothing to do: its own constraints",
    "nothing to do: exempt namespace",
    "nothing to do: no profile fits",
}


def verdict_on(request: Request, folder: Path) -> Verdict:
    """Judge as the measured server does."""
    (folder / "list.json").write_text(json.dumps(servers.cluster(2, reviews.revisions())))
    configuration = check(read_document(servers.CONFIGURATION, "spread.yaml"), str)
    judged_by = policy(configuration, gates_in_force(configuration, parse_version("1.36")))
    facts = load_cluster([str(folder)]).cluster
    return judge(admission.decode(request.bodies[-1]), HOOKS[request.path], judged_by, facts)


@pytest.mark.parametrize("what", AGAINST_FLOOR)
def test_every_request_is_answered_as_its_row_expects(what: str, tmp_path: Path) -> None:
    request, _ = AGAINST_FLOOR[what]
    verdict = verdict_on(request, tmp_path)

    assert verdict.allowed
    assert not verdict.warnings
    assert bool(verdict.patch) is request.patched
    assert bool(verdict.injection and verdict.injection.skip) is (what in SKIPPED)


def test_two_constraints_are_injected_with_the_selectors_of_service_and_owner(
    tmp_path: Path,
) -> None:
    injection = verdict_on(reviews.injected(), tmp_path).injection

    assert injection is not None
    assert injection.keys == ("topology.kubernetes.io/zone", "kubernetes.io/hostname")


def test_an_answer_without_the_work_does_not_count() -> None:
    allowed = {"response": {"uid": "x", "allowed": True}}

    assert reviews.validated().is_answered_by(allowed)
    assert not reviews.injected().is_answered_by(allowed)
    assert not reviews.validated().is_answered_by({"response": {"uid": "x", "allowed": False}})


def test_all_bodies_are_of_the_same_size_but_for_their_constraints() -> None:
    sizes = [len(body) for request, _ in AGAINST_FLOOR.values() for body in request.bodies]

    assert {*map(len, reviews.injected().bodies)} == {reviews.REFERENCE.stat().st_size}
    assert max(sizes) - min(sizes) < 2_000


def test_no_two_reviews_in_turn_have_the_same_uid() -> None:
    for request, _ in AGAINST_FLOOR.values():
        uids = [admission.decode(body).uid for body in request.bodies]
        assert len({*uids}) == len(uids)


def test_every_pod_that_churns_has_a_replica_set_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(json.dumps(servers.cluster(revisions=reviews.revisions())))
    facts = load_cluster([str(tmp_path)]).cluster
    pods = [admission.decode(body).template for body in reviews.churning().bodies]
    owners = [pod.metadata.controller for pod in pods if pod and pod.metadata]
    selectors = [facts.owner_selector("shop", owner) for owner in owners if owner]

    assert (
        len({selector.match_labels["pod-template-hash"] for selector in selectors if selector})
        == 1_000
    )


def test_the_namespace_has_as_many_services_as_requested() -> None:
    items = servers.cluster(5_000)["items"]

    assert sum(item["kind"] == "Service" for item in items) == 5_000


def test_the_pod_is_as_long_as_the_reference_pod_and_has_no_constraints() -> None:
    pod = reviews.reference_pod()

    assert len(json.dumps(pod)) > 8_000
    assert "topologySpreadConstraints" not in pod["spec"]
