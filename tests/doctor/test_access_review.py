"""Each needed right is reviewed, those of configured controllers included."""

import msgspec
import pytest

from tests.apiserver import ApiServer, refuse, respond
from tests.doctor.api import client_of
from webhook.cluster.protocol import Response
from webhook.doctor.access_review import ReviewedServer, review_rights
from webhook.doctor.client import DoctorClient
from webhook.doctor.objects import ConfigMap
from webhook.doctor.rights import (
    ROLLOUTS,
    list_audit_rights,
    list_needed_rights,
    list_policy_rights,
    list_scale_down_rights,
)
from webhook.doctor.workload import Deployment
from webhook.policy.defaulting.profiles import Profile, ScaleDown
from webhook.policy.kinds import KindRow

REVIEWS = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews"
DEPLOYMENT = msgspec.convert(
    {"spec": {"template": {"spec": {"serviceAccountName": "account"}}}}, Deployment
)
ALLOWED = respond({"status": {"allowed": True}}, 201)
FLEET = (
    "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
    "ownerSelectors: [{group: example.com, kind: Fleet, selectorPath: spec.selector}]\n"
)
TEMPLATES = (
    "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\npodTemplates:\n"
    "- {group: example.com, kind: Fleet, path: spec.template}\n"
    "- {group: apps.kruise.io, kind: CloneSet, path: spec.template}\n"
)
KEEPING = (
    "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
    "profiles: [{name: a, scaleDown: KeepSpread, defaultConstraints: []}]\nscaleDownRepair: true\n"
)

GROUPS = {
    "groups": [{"name": "example.com", "preferredVersion": {"groupVersion": "example.com/v1"}}]
}
KINDS = {"resources": [{"name": "fleets", "kind": "Fleet"}]}


@pytest.mark.parametrize(
    ("response", "allowed"), [(ALLOWED, True), (respond({"status": {}}, 201), False)]
)
async def test_every_needed_right_is_reviewed(response: Response, allowed: bool) -> None:
    api = ApiServer(answers={REVIEWS: response})

    found = await review_rights(
        DoctorClient(api), "evenspread", "shop", ReviewedServer(DEPLOYMENT, None)
    )

    assert list(found) == [
        *list_needed_rights("evenspread", "self"),
        *list_policy_rights("evenspread", {}),
    ]
    assert {lookup.value for lookup in found.values()} == {allowed}
    specs = [request.content["spec"] for request in api.requests]
    assert {spec["user"] for spec in specs} == {"system:serviceaccount:shop:account"}


async def test_a_review_that_is_refused_leaves_the_right_unknown() -> None:
    found = await review_rights(
        client_of({REVIEWS: refuse("no")}), "evenspread", "shop", ReviewedServer(None, None)
    )

    assert {lookup.problem for lookup in found.values()} == {
        "needs create on subjectaccessreviews.authorization.k8s.io"
    }


async def test_the_rights_of_audits_are_reviewed_if_the_server_audits() -> None:
    container = {"args": ["serve", "--audit-interval=10m", "--policy-reports=openreports.io"]}
    auditing = msgspec.convert(
        {"spec": {"template": {"spec": {"containers": [container]}}}}, Deployment
    )
    client = client_of(
        {
            REVIEWS: ALLOWED,
            "GET /apis": respond(GROUPS),
            "GET /apis/example.com/v1": respond(KINDS),
        }
    )
    fleets = (KindRow("example.com", "v1", "Fleet", "fleets"),)

    found = await review_rights(
        client,
        "evenspread",
        "shop",
        ReviewedServer(auditing, ConfigMap({"config.yaml": TEMPLATES})),
    )

    expected = (
        *list_needed_rights("evenspread", "self"),
        *list_policy_rights("evenspread", {}),
        *list_audit_rights("evenspread", auditing.settings, fleets),
    )
    assert list(found) == [*dict.fromkeys(expected)]


KEEPING_FILE = ConfigMap({"config.yaml": KEEPING})
KEEPING_POLICY = Profile(name="keeping", scale_down=ScaleDown.KEEP_SPREAD)


@pytest.mark.parametrize("policies", [(), (KEEPING_POLICY,)], ids=["a profile", "a policy too"])
async def test_the_rights_to_pods_are_reviewed_once_if_a_profile_keeps_the_spread(
    policies: tuple[Profile, ...],
) -> None:
    api = ApiServer(answers={REVIEWS: ALLOWED})
    server = ReviewedServer(None, KEEPING_FILE, policies)

    found = await review_rights(DoctorClient(api), "evenspread", "shop", server)

    expected = (
        *list_needed_rights("evenspread", "self"),
        *list_policy_rights("evenspread", {}),
        *list_scale_down_rights("evenspread", keeps_spread=True, repairs=True),
    )
    assert list(found) == [*dict.fromkeys(expected)]
    assert len(api.requests) == len(found)


POD_RIGHTS = set(list_scale_down_rights("evenspread", keeps_spread=True, repairs=False))


@pytest.mark.parametrize(("source", "reviewed"), [("both", True), ("file", False)])
async def test_spread_policies_decide_on_rights_where_they_count(
    source: str, reviewed: bool
) -> None:
    args = ["serve", f"--policies={source}"]
    pod_spec = {"containers": [{"args": args}]}
    server = msgspec.convert({"spec": {"template": {"spec": pod_spec}}}, Deployment)

    found = await review_rights(
        client_of({REVIEWS: ALLOWED}),
        "evenspread",
        "shop",
        ReviewedServer(server, None, (KEEPING_POLICY,)),
    )

    assert (found.keys() >= POD_RIGHTS) is reviewed


OWNERS: dict[str, tuple[dict[str, Response], tuple[KindRow, ...]]] = {
    "a controller that exists": (
        {"GET /apis": respond(GROUPS), "GET /apis/example.com/v1": respond(KINDS)},
        (ROLLOUTS, KindRow("example.com", "v1", "Fleet", "fleets")),
    ),
    "a controller that does not exist": ({"GET /apis": respond({"groups": []})}, (ROLLOUTS,)),
    "a discovery that fails": ({"GET /apis": refuse("broken", 500)}, (ROLLOUTS,)),
}


@pytest.mark.parametrize(("responses", "owners"), OWNERS.values(), ids=OWNERS)
async def test_configured_controllers_are_reviewed_if_they_exist(
    responses: dict[str, Response], owners: tuple[KindRow, ...]
) -> None:
    client = client_of({REVIEWS: ALLOWED, **responses})
    config_map = ConfigMap({"config.yaml": FLEET})

    found = await review_rights(client, "evenspread", "shop", ReviewedServer(None, config_map))

    assert list(found) == [
        *list_needed_rights("evenspread", "self", owners),
        *list_policy_rights("evenspread", {}),
    ]
