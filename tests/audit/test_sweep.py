from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apiserver import ApiServer, Json, page
from tests.audit import world
from tests.audit.world import (
    BARE,
    DEPLOYMENT,
    EVERYTHING,
    NODES,
    REPLICA_SET,
    RUNNING,
    audit_options,
    serve_objects,
)
from webhook.audit.inventory import Inventory
from webhook.audit.listing import LISTED_BUILT_IN, LISTED_PODS, ClusterListing
from webhook.audit.report import WorkloadReport
from webhook.audit.scan import scan
from webhook.audit.sweep import ClusterSweep, ListCursor
from webhook.cluster.lists import LIST_TRIES
from webhook.cluster.protocol import FailureReason
from webhook.errors import ApiError, ExpiredError
from webhook.policy.kinds import KindRow


async def swept(server: ApiServer) -> list[WorkloadReport]:
    sweep = ClusterSweep(server, world.CONFIGURATION, audit_options())
    assert sweep.problems == []
    return [workload async for report in sweep.reports() for workload in report.workloads]


async def at_once(server: ApiServer) -> list[WorkloadReport]:
    configuration = world.CONFIGURATION
    listing = ClusterListing(server, configuration)
    await listing.read()
    found = Inventory(listing.snapshot, configuration.owner_selectors)
    return list(scan(found, audit_options()).workloads)


def moved(text: str, namespace: str) -> str:
    return text.replace("namespace: shop", f"namespace: {namespace}").replace(
        '"namespace":"shop"', f'"namespace":"{namespace}"'
    )


APPLICATION = DEPLOYMENT + REPLICA_SET + RUNNING + BARE

BIG = NODES + "".join(moved(APPLICATION, namespace) for namespace in ("a", "b", "c"))


def pod_of_b(number: int) -> Json:
    metadata = {"name": f"z-{number:03}", "namespace": "b"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "a-1"}}


@pytest.mark.parametrize("pages", [5, 40])
async def test_a_namespace_that_needs_too_much_memory_is_left_out(pages: int) -> None:
    server = serve_objects(BIG)
    server.add(*map(pod_of_b, range(120)))
    sweep = ClusterSweep(server, world.CONFIGURATION, audit_options())
    server.script("/api/v1/pods", *[None] * pages, MemoryError())

    reports = [report async for report in sweep.reports()]

    assert sweep.left_out == ["b"]
    assert [{workload.namespace for workload in report.workloads} for report in reports] == [
        {"a"},
        {"c"},
    ]


async def test_a_first_page_that_needs_too_much_memory_ends_the_audit() -> None:
    sweep = ClusterSweep(server := serve_objects(BIG), world.CONFIGURATION, audit_options())
    server.script("/api/v1/pods", MemoryError())

    with pytest.raises(MemoryError):
        await anext(sweep.reports())


CLUSTERS = {
    "one namespace": NODES + APPLICATION,
    "a pod without a controller, and one that no API server would take": EVERYTHING,
    "several namespaces": NODES
    + "".join(moved(APPLICATION, namespace) for namespace in ("a", "a-b", "b")),
    "a namespace without pods beside one that has some": NODES
    + APPLICATION
    + moved(DEPLOYMENT + BARE, "empty"),
    "a custom kind": NODES
    + RUNNING
    + moved(DEPLOYMENT, "zoo")
    .replace("apps/v1", "argoproj.io/v1")
    .replace("Depl", "Roll")
    .replace("Rolloyment", "Rollout"),
    "a controller that is not known": NODES + world.pod("p", "node-a", "Fleet/sea"),
}


@pytest.mark.parametrize("text", CLUSTERS.values(), ids=CLUSTERS)
async def test_reports_on_namespaces_are_the_parts_of_the_report_on_all(text: str) -> None:
    assert sorted(await swept(serve_objects(text)), key=title) == await at_once(serve_objects(text))


def title(workload: WorkloadReport) -> tuple[str, str, str]:
    return workload.namespace, workload.kind, workload.name


NAMES = st.lists(
    st.tuples(
        st.sampled_from(["a", "a-b", "a.b", "a0", "ab", "b"]),
        st.text("ab-0", min_size=1, max_size=3),
        st.sampled_from(["Deployment", "Service", "Job"]),
    ),
    unique=True,
)


@given(NAMES)
def test_each_object_is_taken_once_and_with_its_namespace(
    names: list[tuple[str, str, str]],
) -> None:
    made = [
        {"kind": kind, "metadata": {"namespace": namespace, "name": name}}
        for namespace, name, kind in names
    ]

    assert sorted(run(walk(serve_objects(made)))) == sorted(names)


async def walk(server: ApiServer) -> list[tuple[str, str, str]]:
    kinds = [
        listed for listed in LISTED_BUILT_IN if listed.kind in ("Deployment", "Service", "Job")
    ]
    cursors = [ListCursor(server, kind, []) for kind in kinds]
    taken: list[tuple[str, str, str]] = []
    while True:
        ahead = [await cursor.next_namespace() for cursor in cursors]
        namespace = min(filter(None, ahead), key=lambda name: f"{name}/", default=None)
        if namespace is None:
            return taken
        for cursor in cursors:
            async for item in cursor.take(namespace):
                metadata = msgspec.json.decode(item)["metadata"]
                assert metadata["namespace"] == namespace
                taken.append((namespace, metadata["name"], cursor.listed.kind))


def run(walking: Any) -> Any:
    """Run what waits for nothing."""
    try:
        walking.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


def pods(*names: str) -> list[Any]:
    return [{"kind": "Pod", "metadata": {"namespace": "shop", "name": name}} for name in names]


async def names_of(server: ApiServer) -> list[str]:
    cursor = ListCursor(server, LISTED_PODS, [])
    return [msgspec.json.decode(item)["metadata"]["name"] async for item in cursor.take("shop")]


@pytest.mark.parametrize("at", range(3))
async def test_a_list_whose_rest_was_forgotten_is_restarted_and_nothing_is_taken_twice(
    at: int,
) -> None:
    server = serve_objects(
        pods(*"abcde"), {LISTED_PODS.path(""): [*[None] * at, ExpiredError("api", "gone")]}
    )

    assert await names_of(server) == list("abcde")


async def test_an_unsorted_list_is_an_error() -> None:
    server = ApiServer(answers={f"GET {LISTED_PODS.path('')}": page(*pods(*"cba"))})

    with pytest.raises(ApiError, match="unsorted"):
        await names_of(server)


FORBIDDEN = ApiError("api", "answered 403", FailureReason.FORBIDDEN, 403)

EVERY_KIND = (*LISTED_BUILT_IN, LISTED_PODS)


@pytest.mark.parametrize("listed", EVERY_KIND, ids=lambda listed: listed.kind)
async def test_a_kind_that_may_not_be_listed_is_known_before_the_first_report(
    listed: KindRow,
) -> None:
    sweep = ClusterSweep(
        serve_objects(EVERYTHING, {listed.path(""): [FORBIDDEN]}),
        world.CONFIGURATION,
        audit_options(),
    )

    with pytest.raises(ApiError, match="403"):
        await anext(sweep.reports())


async def test_a_failed_discovery_is_an_error() -> None:
    sweep = ClusterSweep(
        serve_objects(EVERYTHING, {"/apis": [FORBIDDEN]}), world.CONFIGURATION, audit_options()
    )

    with pytest.raises(ApiError, match="403"):
        await anext(sweep.reports())


async def test_unreadable_objects_are_problems_and_the_rest_is_audited() -> None:
    broken = BARE.replace("containers: []", "tolerations: 5")
    sweep = ClusterSweep(serve_objects(DEPLOYMENT + broken), world.CONFIGURATION, audit_options())

    reports = [report async for report in sweep.reports()]

    assert [workload.name for report in reports for workload in report.workloads] == ["web"]
    assert [problem.source for problem in sweep.problems] == [
        "/apis/apps/v1/namespaces/shop/statefulsets/db"
    ]


async def test_a_list_that_expires_again_and_again_is_given_up() -> None:
    expired = ExpiredError("api", "gone")
    server = serve_objects(pods("a"), {LISTED_PODS.path(""): [expired] * LIST_TRIES})

    with pytest.raises(ExpiredError):
        await names_of(server)


async def test_the_hash_of_rollouts_is_reported_where_no_rollout_refers_to_the_deployment() -> None:
    text = DEPLOYMENT.replace("[pod-template-hash]", "[rollouts-pod-template-hash]")

    (workload,) = await swept(serve_objects(text))
    (listed,) = await at_once(serve_objects(text))

    assert [finding.rule for finding in workload.findings] == ["TSC117"]
    assert listed == workload


async def test_a_namespace_without_a_workload_has_no_report() -> None:
    service = "---\n{apiVersion: v1, kind: Service, metadata: {name: web, namespace: empty}}\n"

    assert {item.namespace for item in await swept(serve_objects(DEPLOYMENT + service))} == {"shop"}


async def test_an_object_that_is_too_large_is_a_problem_and_the_rest_is_audited() -> None:
    large = moved(BARE, "a").replace("containers: []", f"containers: [{{name: {'x' * 50_000}}}]")
    server = serve_objects(DEPLOYMENT + large)
    server.max_body = 50_000
    sweep = ClusterSweep(server, world.CONFIGURATION, audit_options())

    reports = [report async for report in sweep.reports()]

    assert [workload.name for report in reports for workload in report.workloads] == ["web"]
    assert [str(problem) for problem in sweep.problems] == [
        "/apis/apps/v1/statefulsets: an object is larger than an answer may be, and is left out"
    ]


EXCEPTION = """\
---
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicyException
metadata: {name: legacy, namespace: %s}
spec: {rules: [TSC110], reason: one zone by contract}
"""


async def test_exceptions_belong_to_the_report_of_their_namespace() -> None:
    server = serve_objects(BIG + EXCEPTION % "b" + EXCEPTION % "without-workloads")
    sweep = ClusterSweep(server, world.CONFIGURATION, audit_options())

    found = [one.namespace async for report in sweep.reports() for one in report.exceptions]

    assert found == ["b"]
