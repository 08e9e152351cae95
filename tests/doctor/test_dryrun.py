"""Dry runs of pods and PodTemplates find the replicas that answer, and the resulting pods."""

from typing import Any

import msgspec
import pytest

from tests.apiserver import ApiServer, refuse, respond
from tests.doctor.api import client_of
from webhook.cluster.protocol import Response
from webhook.doctor.client import DoctorClient
from webhook.doctor.dryrun import choose_probe_namespace, dry_run_pods, send_probes
from webhook.doctor.installation import DryRunPod, Lookup
from webhook.doctor.objects import WebhookConfiguration
from webhook.doctor.probes import (
    OWN_CONSTRAINT,
    PROBES_PER_HOOK,
    ProbeNamespace,
    ProbeResult,
    ReplicaIdentity,
)
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.model import Constraint
from webhook.policy.request import Hook

TEMPLATES = "POST /api/v1/namespaces/shop/podtemplates"
PODS = "POST /api/v1/namespaces/shop/pods"
ANSWERED = "evenspread 0.1.0 evenspread-1 answered"
NOT_ALLOWED = 'pods is forbidden: User "a" cannot create resource "pods"'
ONE = (ReplicaIdentity("0.1.0", "evenspread-1"),)

PROBES: dict[str, tuple[Response, ProbeResult, int]] = {
    "an answer": (respond({}, 201, ANSWERED), ProbeResult(ONE), PROBES_PER_HOOK),
    "no answer": (respond({}, 201), ProbeResult(), 1),
    "a refusal": (refuse("no such tenant"), ProbeResult(refusal="no such tenant"), 1),
    "a missing right": (
        refuse(NOT_ALLOWED),
        ProbeResult(problem="needs create on podtemplates in namespace shop"),
        1,
    ),
}


@pytest.mark.parametrize(("response", "result", "requests"), PROBES.values(), ids=PROBES)
async def test_probes_find_the_replicas_that_answer(
    response: Response, result: ProbeResult, requests: int
) -> None:
    api = ApiServer(answers={TEMPLATES: response})

    assert await send_probes(DoctorClient(api), Hook.MUTATE, "shop") == result
    assert [request.query for request in api.requests] == [{"dryRun": "All"}] * requests


async def test_pods_are_sent_without_and_with_a_constraint() -> None:
    created = {
        "metadata": {"annotations": {DEFAULTS_ANNOTATION: "[]"}},
        "spec": {"topologySpreadConstraints": [OWN_CONSTRAINT]},
    }
    own = msgspec.convert(OWN_CONSTRAINT, Constraint)

    found = await dry_run_pods(client_of({PODS: respond(created, 201)}), "shop")

    assert found.value == (DryRunPod("[]", (own,), ()), DryRunPod("[]", (own,), (own,)))


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (NOT_ALLOWED, "needs create on pods in namespace shop"),
        ("no such tenant", "a pod was refused in namespace shop: no such tenant"),
    ],
)
async def test_refused_pods_are_unknown(message: str, problem: str) -> None:
    assert (await dry_run_pods(client_of({PODS: refuse(message)}), "shop")).problem == problem


def configuration(*names: str) -> Lookup[WebhookConfiguration]:
    """A configuration that is called for namespaces with these names only."""
    expression = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": names}
    selector = {"matchExpressions": [expression]}
    webhook = {"name": "a", "clientConfig": {}, "namespaceSelector": selector}
    return Lookup(msgspec.convert({"webhooks": [webhook]}, WebhookConfiguration))


NAMESPACES: dict[str, tuple[Lookup[WebhookConfiguration], str, str]] = {
    "default is one of them": (configuration("shop", "default"), "", "default"),
    "default is none of them": (configuration("shop", "zoo"), "", "shop"),
    "none fits": (configuration("other"), "", "default"),
    "the configuration is unreadable": (Lookup(problem="needs a right"), "", "default"),
    "one is wanted": (configuration("shop", "default"), "zoo", "zoo"),
}


@pytest.mark.parametrize(("lookup", "wanted", "name"), NAMESPACES.values(), ids=NAMESPACES)
async def test_the_namespace_is_one_that_the_webhooks_are_called_for(
    lookup: Lookup[WebhookConfiguration], wanted: str, name: str
) -> None:
    items: list[Any] = [
        {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}
        for name in ("app", "default", "shop", "zoo")
    ]
    client = client_of({"GET /api/v1/namespaces": respond({"items": items})})

    chosen = await choose_probe_namespace(client, {Hook.MUTATE: lookup}, wanted)

    assert chosen == ProbeNamespace(name, {"kubernetes.io/metadata.name": name})


async def test_the_labels_of_a_namespace_that_is_not_listed_are_unknown() -> None:
    chosen = await choose_probe_namespace(client_of({}), {}, "zoo")

    assert chosen == ProbeNamespace("zoo")
