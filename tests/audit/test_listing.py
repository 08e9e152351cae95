import pytest

from tests.apiserver import ApiServer
from tests.audit import world
from tests.audit.world import LIVE, gather, report_on, serve_objects
from webhook.audit.listing import (
    LISTED_BUILT_IN,
    LISTED_CLUSTER_SCOPED,
    LISTED_PODS,
    ClusterListing,
)
from webhook.cluster.lists import LIST_TRIES
from webhook.cluster.protocol import FailureReason
from webhook.errors import ApiError, ExpiredError


async def listed(server: ApiServer, namespace: str = "") -> ClusterListing:
    configuration = world.CONFIGURATION
    listing = ClusterListing(server, configuration)
    await listing.read([namespace])
    return listing


async def test_a_cluster_gives_the_report_of_its_manifests_but_for_their_places() -> None:
    found = report_on((await listed(serve_objects(LIVE))).snapshot)
    written = report_on(gather(LIVE).snapshot)

    assert found.summary == written.summary
    assert [finding.problem for _, finding in found.findings()] == [
        finding.problem for _, finding in written.findings()
    ]
    assert {workload.source for workload in found.workloads} == {""}


async def test_custom_kinds_are_found_and_listed() -> None:
    rollout = world.DEPLOYMENT.replace("apps/v1", "argoproj.io/v1").replace("Deployment", "Rollout")

    listing = await listed(serve_objects(rollout))

    (workload,) = listing.snapshot.workloads
    assert str(workload.subject.kind) == "Rollout.argoproj.io"
    assert listing.snapshot.owners[0].kind == "Rollout"


async def test_pod_groups_are_listed_where_a_version_has_them() -> None:
    text = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers, namespace: shop}
"""

    with_groups, without = await listed(serve_objects(text)), await listed(serve_objects(LIVE))

    assert [group.name for group in with_groups.snapshot.pod_groups] == ["workers"]
    assert (without.snapshot.pod_groups, without.problems) == ([], [])


EXCEPTION = """\
---
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicyException
metadata: {name: legacy, namespace: shop}
spec: {rules: [TSC110], reason: one zone by contract}
"""


async def test_exceptions_are_listed() -> None:
    listing = await listed(serve_objects(LIVE + EXCEPTION), "shop")

    (report,) = report_on(listing.snapshot).exceptions
    assert (report.name, report.reason) == ("legacy", "one zone by contract")
    assert (listing.problems, listing.refused) == ([], None)


async def test_without_the_right_to_list_them_exceptions_do_not_count() -> None:
    refused = ApiError("api", "no", FailureReason.FORBIDDEN, 403)
    path = "/apis/evenspread.io/v1alpha1/spreadpolicyexceptions"

    listing = await listed(serve_objects(LIVE + EXCEPTION, {path: [refused]}))

    assert (listing.problems, listing.refused) == ([], refused)
    assert len(listing.snapshot.pods) == 4


CLASSED = LIVE.replace(
    "containers: [{name: web", "runtimeClassName: kata\n      containers: [{name: web"
)


@pytest.mark.parametrize(("text", "is_problem"), [(LIVE, False), (CLASSED, True)])
async def test_the_right_to_list_runtime_classes_is_needed_for_those_that_are_named(
    text: str, is_problem: bool
) -> None:
    refused = ApiError("api", "no", FailureReason.FORBIDDEN, 403)
    path = "/apis/node.k8s.io/v1/runtimeclasses"

    listing = await listed(serve_objects(text, {path: [refused]}))

    assert listing.problems == ([refused] if is_problem else [])
    assert len(listing.snapshot.pods) == 4


@pytest.mark.parametrize("namespace", ["", "shop"])
async def test_all_references_of_the_namespaces_are_known(namespace: str) -> None:
    listing = await listed(serve_objects(LIVE), namespace)

    assert listing.snapshot.reference_namespaces == [namespace]


async def test_references_are_not_known_if_a_custom_kind_cannot_be_listed() -> None:
    rollout = world.DEPLOYMENT.replace("apps/v1", "argoproj.io/v1").replace("Deployment", "Rollout")
    refused = ApiError("api", "no", FailureReason.FORBIDDEN, 403)

    listing = await listed(
        serve_objects(rollout, {"/apis/argoproj.io/v1/rollouts": [refused] * LIST_TRIES})
    )

    assert listing.problems == [refused]
    assert listing.snapshot.reference_namespaces == []


async def test_one_namespace() -> None:
    server = serve_objects(LIVE)

    await listed(server, "shop")

    assert "/api/v1/namespaces/shop/pods" in server.paths
    assert "/api/v1/nodes" in server.paths
    assert "/api/v1/pods" not in server.paths


@pytest.mark.parametrize("pages", range(2))
async def test_a_list_that_expires_is_restarted_and_no_object_is_there_twice(pages: int) -> None:
    server = serve_objects(LIVE, {"/api/v1/pods": [*[None] * pages, ExpiredError("api", "gone")]})

    assert len((await listed(server)).snapshot.pods) == 4


PROBLEMS = {
    "a kind that may not be listed": ApiError("api", "no", FailureReason.FORBIDDEN, 403),
    "a list that expires again and again": ExpiredError("api", "gone"),
}


@pytest.mark.parametrize("error", PROBLEMS.values(), ids=PROBLEMS.keys())
async def test_a_kind_that_cannot_be_listed_is_a_problem_and_the_rest_is_read(
    error: ApiError,
) -> None:
    listing = await listed(serve_objects(LIVE, {"/api/v1/nodes": [error] * LIST_TRIES}))

    assert listing.problems == [error]
    assert len(listing.snapshot.pods) == 4


async def test_an_unreachable_server_gets_one_request() -> None:
    server = serve_objects(
        LIVE, {"/api/v1/namespaces": [ApiError("api", "down", FailureReason.UNREACHABLE)]}
    )

    with pytest.raises(ApiError, match="down"):
        await listed(server)

    assert server.paths == ["/api/v1/namespaces"]


async def test_objects_that_cannot_be_read_are_problems() -> None:
    listing = await listed(serve_objects(world.DEPLOYMENT.replace("maxSkew: 1", "maxSkew: '1'")))

    assert [problem.source for problem in listing.problems] == [
        "/apis/apps/v1/namespaces/shop/deployments/web"
    ]


async def test_an_object_that_is_too_large_is_a_problem() -> None:
    server = serve_objects(world.DEPLOYMENT.replace("maxSkew: 1", f"odd: {'x' * 50_000}"))
    server.max_body = 50_000

    assert "larger than an answer may be" in str((await listed(server)).problems[0])


async def test_pods_are_listed_last() -> None:
    server = serve_objects(LIVE)

    await listed(server)

    assert server.paths[-1] == "/api/v1/pods"


def test_every_listed_kind_is_listed_once() -> None:
    rows = (*LISTED_CLUSTER_SCOPED, *LISTED_BUILT_IN, LISTED_PODS)

    assert len({row.group_kind for row in rows}) == len(rows)
    assert {row.kind for row in LISTED_CLUSTER_SCOPED} == {
        "Namespace",
        "Node",
        "RuntimeClass",
        "StorageClass",
    }
