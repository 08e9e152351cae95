"""Everything the checks read is collected with the rights of the user."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.apiserver import ApiServer, refuse, respond
from tests.doctor.api import client_of
from tests.doctor.installations import METRICS, READY, replica
from webhook.cluster.protocol import Response
from webhook.doctor.client import DoctorClient
from webhook.doctor.collect import DoctorTarget, collect_installation
from webhook.doctor.installation import Installation, NotReadableError
from webhook.doctor.rights import Right
from webhook.errors import ApiError
from webhook.policy.request import Hook

TARGET = DoctorTarget("evenspread")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
REGISTRATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
LABELS = {"app.kubernetes.io/name": "evenspread", "app.kubernetes.io/version": "0.1.0"}
DEPLOYMENT = {
    "spec": {
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {
                "serviceAccountName": "account",
                "containers": [{"args": ["serve", "--health-port=8081"]}],
                "volumes": [{"name": "other"}, {"name": "a", "secret": {"secretName": "pair"}}],
            },
        }
    }
}
WEBHOOKS: list[Any] = [
    {"name": "url", "clientConfig": {"url": "https://a"}},
    {
        "name": "mutate.evenspread.io",
        "clientConfig": {"service": {"name": "evenspread", "namespace": "shop"}},
    },
]
POD = {"metadata": {"name": "evenspread-1"}}
PROXY = "GET /api/v1/namespaces/shop/pods/evenspread-1%3A8081/proxy"
RESPONSES = {
    "GET /version": respond({"gitVersion": "v1.37.0"}),
    f"GET {REGISTRATION}/evenspread": respond({"webhooks": WEBHOOKS}),
    "GET /apis/apps/v1/namespaces/shop/deployments/evenspread": respond(DEPLOYMENT),
    "GET /api/v1/namespaces/shop/pods": respond({"items": [POD]}),
    "GET /api/v1/namespaces/shop/secrets/pair": respond({"data": {"tls.crt": "UEVN"}}),
    "GET /metrics": Response(200, b'kubernetes_feature_enabled{name="A",stage=""} 1\n'),
    f"{PROXY}/readyz": Response(200, READY.encode()),
    f"{PROXY}/metrics": Response(200, METRICS.encode()),
}
VERSION = {"GET /version": RESPONSES["GET /version"]}


async def collect(responses: dict[str, Response], target: DoctorTarget = TARGET) -> Installation:
    return await collect_installation(client_of(responses), target, NOW, "0.1.0")


async def test_an_installation_is_found_by_its_webhooks() -> None:
    api = ApiServer(answers=RESPONSES)

    found = await collect_installation(DoctorClient(api), TARGET, NOW, "0.1.0")

    assert (found.namespace, found.kubernetes) == ("shop", "v1.37.0")
    assert found.settings == {"health-port": "8081"}
    assert found.serving.value is not None
    assert found.features.value == {"A": True}
    (page,) = found.replicas
    assert (page.name, page.readiness.value, page.metrics.value) == (
        "evenspread-1", READY, METRICS
    )  # fmt: skip
    queries = {request.path: request.query for request in api.requests}
    assert queries["/api/v1/namespaces/shop/pods"] == {
        "labelSelector": "app.kubernetes.io/name=evenspread"
    }
    users = [item.content["spec"]["user"] for item in api.requests if "subjectaccess" in item.path]
    assert set(users) == {"system:serviceaccount:shop:account"}


async def test_without_any_object_the_defaults_apply() -> None:
    found = await collect(VERSION)

    assert found.namespace == "evenspread"
    assert found.deployment.value is None
    assert found.serving.value is None
    assert found.replicas == ()


async def test_the_target_overrides_what_is_found() -> None:
    target = DoctorTarget("evenspread", "zoo", "app", None, (replica(),))

    found = await collect(RESPONSES, target)

    assert found.namespace == "zoo"
    assert [page.name for page in found.replicas] == ["evenspread-1"]
    assert found.probes[Hook.MUTATE].replicas == ()


async def test_unreadable_metrics_leave_the_gates_unknown() -> None:
    found = await collect({**RESPONSES, "GET /metrics": refuse("no")})

    with pytest.raises(NotReadableError, match="needs get on the path /metrics"):
        _ = found.features.value


@pytest.mark.parametrize(
    "response", [respond({}), Response(200, b"<html>"), Response(200, b'{"gitVersion":"\xff"}')]
)
async def test_a_server_without_a_version_is_no_api_server(response: Response) -> None:
    with pytest.raises(ApiError, match="answered 200 to the request for its version"):
        await collect({"GET /version": response})


SPREAD_POLICIES = "GET /apis/evenspread.io/v1alpha1/spreadpolicies"
KEEPING: dict[str, Any] = {
    "apiVersion": "evenspread.io/v1alpha1",
    "kind": "SpreadPolicy",
    "metadata": {"name": "a"},
    "spec": {"scaleDown": "KeepSpread", "defaultConstraints": []},
}


async def test_spread_policies_are_read_and_decide_on_the_rights() -> None:
    found = await collect({**VERSION, SPREAD_POLICIES: respond({"items": [KEEPING]})})

    assert [policy.name for policy in found.policies.value or ()] == ["a"]
    assert Right("watch", "", "pods") in found.rights
    without = await collect(VERSION)
    assert without.policies.value is None
    assert Right("watch", "", "pods") not in without.rights


async def test_spread_policies_that_may_not_be_listed_are_a_problem() -> None:
    found = await collect({**VERSION, SPREAD_POLICIES: refuse("no")})

    assert found.policies.problem == "needs list on spreadpolicies.evenspread.io"


ASSIGN = "GET /apis/mutations.gatekeeper.sh/v1/assign"
CLUSTER_POLICY = "GET /apis/kyverno.io/v1/clusterpolicies"
WRITES: dict[str, Any] = {"patchStrategicMerge": {"spec": {"topologySpreadConstraints": []}}}

POLICIES: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "a mutation": (
        ASSIGN,
        {"location": "spec.topologySpreadConstraints"},
        ("Assign a",),
    ),
    "a rule that mutates": (
        CLUSTER_POLICY,
        {"rules": [{"mutate": WRITES}]},
        ("ClusterPolicy a",),
    ),
    "a rule that validates": (CLUSTER_POLICY, {"rules": [{"validate": WRITES}]}, ()),
    "another field": (ASSIGN, {"location": "spec.nodeName"}, ()),
}


@pytest.mark.parametrize(("path", "spec", "conflicts"), POLICIES.values(), ids=POLICIES)
async def test_policies_that_write_the_field_are_found(
    path: str, spec: dict[str, Any], conflicts: tuple[str, ...]
) -> None:
    listed = respond({"items": [{"metadata": {"name": "a"}, "spec": spec}]})

    assert (await collect({**VERSION, path: listed})).conflicts.value == conflicts


async def test_unreadable_policies_are_a_problem() -> None:
    found = await collect({**VERSION, ASSIGN: refuse("no")})

    assert found.conflicts.problem == "needs list on assign.mutations.gatekeeper.sh"


async def test_a_conflict_counts_though_other_policies_are_unreadable() -> None:
    listed = respond({"items": [{"metadata": {"name": "a"}, "spec": {"mutate": WRITES}}]})

    found = await collect({**VERSION, ASSIGN: listed, CLUSTER_POLICY: refuse("")})

    assert found.conflicts.value == ("Assign a",)
