"""The rights that are reviewed are those that the manifests grant, no more and no less."""

from typing import Any

import pytest

from tests.deploy.manifests import Helm, Json, by_name
from tests.doctor.installations import BASE
from webhook.cluster.policyexceptions import POLICY_EXCEPTION
from webhook.doctor.rights import (
    READ_VERBS,
    ROLLOUTS,
    Right,
    build_review,
    certificate_mode,
    list_audit_rights,
    list_needed_rights,
    list_policy_rights,
    list_scale_down_rights,
)
from webhook.policy.kinds import KindRow

FLEET: Json = {
    "group": "example.com",
    "kind": "Fleet",
    "resource": "fleets",
    "selectorPath": "spec.selector",
}

TEMPLATE: Json = {key: FLEET[key] for key in ("group", "kind", "resource")}

INSTALLATIONS: dict[str, tuple[Json, tuple[Any, ...]]] = {
    "by default": ({}, ("evenspread", "self")),
    "with certificates of another issuer": (
        {"certificate": {"mode": "files", "secretName": "serving"}},
        ("evenspread", "files"),
    ),
    "with a controller of another project": (
        {"ownerSelectors": [FLEET]},
        ("evenspread", "self", (ROLLOUTS, KindRow("example.com", "", "Fleet", "fleets"))),
    ),
    "that audits": (
        {"audit": {"interval": "10m"}},
        ("evenspread", "self", (ROLLOUTS,), {"audit-interval": "10m"}),
    ),
    "that writes PolicyReports": (
        {"audit": {"interval": "10m", "policyReports": "wgpolicyk8s.io"}},
        (
            *("evenspread", "self", (ROLLOUTS,)),
            {"audit-interval": "10m", "policy-reports": "wgpolicyk8s.io"},
        ),
    ),
    "that writes Reports on kinds of another project": (
        {
            "audit": {"interval": "10m", "policyReports": "openreports.io"},
            "podTemplates": [{**TEMPLATE, "path": "spec.template"}],
        },
        (
            *("evenspread", "self", (ROLLOUTS,)),
            {"audit-interval": "10m", "policy-reports": "openreports.io"},
            (KindRow("example.com", "", "Fleet", "fleets"),),
        ),
    ),
    "of another name": ({"name": "spreader"}, ("spreader", "self")),
}


def granted(objects: dict[str, Json], name: str) -> set[Right]:
    return {
        Right(verb, group, resource, of, namespaced=kind == "Role")
        for kind in ("ClusterRole", "Role")
        for role in (f"{kind}/{name}", f"{kind}/{name}-audit", f"{kind}/{name}-repair")
        for rule in objects.get(role, {"rules": []})["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for of in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize(("values", "args"), INSTALLATIONS.values(), ids=INSTALLATIONS)
def test_what_is_needed_is_what_the_chart_grants(
    helm: Helm, values: Json, args: tuple[Any, ...]
) -> None:
    name, *audits = args[0], *args[3:]
    needed = [
        *list_needed_rights(*args[:3]),
        *list_policy_rights(name, {}),
        *list_audit_rights(name, *(audits or [{}])),
    ]

    assert set(needed) == granted(by_name(helm.objects(values)), name)


KEEPING: Json = {"name": "shops", "scaleDown": "KeepSpread"}

SCALED: dict[str, tuple[Json, Json]] = {
    "that ranks pods": ({"config": {"profiles": [KEEPING]}}, {"keeps_spread": True}),
    "that corrects ranks": (
        {"config": {"profiles": [KEEPING], "scaleDownRepair": True}},
        {"keeps_spread": True, "repairs": True},
    ),
    "that corrects ranks and audits": (
        {
            "config": {"profiles": [KEEPING], "scaleDownRepair": True},
            "audit": {"interval": "10m"},
        },
        {"keeps_spread": True, "repairs": True, "settings": {"audit-interval": "10m"}},
    ),
    "that ranks pods of SpreadPolicies": (
        {"policies": {"keepSpread": True}},
        {"keeps_spread": True},
    ),
    "of which no profile keeps the spread": ({"config": {"profiles": [{"name": "a"}]}}, {}),
}


@pytest.mark.parametrize(("values", "needs"), SCALED.values(), ids=SCALED)
def test_ranks_need_what_the_chart_grants(helm: Helm, values: Json, needs: Json) -> None:
    needs = {"keeps_spread": False, "repairs": False, "settings": {}, **needs}
    settings = needs.pop("settings")
    needed = {
        *list_needed_rights("evenspread", "self"),
        *list_policy_rights("evenspread", {}),
        *list_audit_rights("evenspread", settings),
        *list_scale_down_rights("evenspread", **needs),
    }

    assert needed == granted(by_name(helm.objects(values)), "evenspread")


def test_every_server_needs_to_watch_exceptions_and_nothing_else_of_them() -> None:
    needed = (
        right
        for right in list_needed_rights("evenspread", "files")
        if right.group == POLICY_EXCEPTION.group
    )
    assert [*map(str, needed)] == [
        f"{verb} on spreadpolicyexceptions.evenspread.io" for verb in ("list", "watch")
    ]


def test_policies_that_are_not_used_need_nothing(helm: Helm) -> None:
    chart = by_name(helm.objects({"policies": {"source": "file"}}))

    assert [*list_policy_rights("evenspread", {"policies": "file"})] == []
    assert set(list_needed_rights("evenspread", "self")) == granted(chart, "evenspread")


def test_corrections_without_ranks_need_nothing() -> None:
    assert not [*list_scale_down_rights("evenspread", keeps_spread=False, repairs=True)]


def test_what_is_needed_is_what_the_manifests_for_kustomize_grant() -> None:
    needed = {
        *list_needed_rights("evenspread", "self"),
        *list_policy_rights("evenspread", {"policies": "both"}),
    }

    assert needed == granted(BASE, "evenspread")


def test_a_review_names_the_account_as_its_token_does() -> None:
    review = build_review(
        Right("get", "", "secrets", "evenspread-ca", namespaced=True), "ns", "account"
    )

    assert review["spec"] == {
        "user": "system:serviceaccount:ns:account",
        "groups": [
            "system:serviceaccounts",
            "system:serviceaccounts:ns",
            "system:authenticated",
        ],
        "resourceAttributes": {
            "verb": "get",
            "resource": "secrets",
            "name": "evenspread-ca",
            "namespace": "ns",
        },
    }


def test_a_right_is_written_as_verb_resource_and_name() -> None:
    assert str(Right("get", "", "secrets", "evenspread-ca")) == "get on secrets evenspread-ca"
    assert str(Right("list", "apps", "replicasets")) == "list on replicasets.apps"


def test_the_mode_of_the_certificate_is_self_without_a_setting() -> None:
    assert certificate_mode({}) == certificate_mode({"tls": "auto"}) == "self"


def test_only_a_server_that_issues_its_certificate_may_write() -> None:
    rights = list_needed_rights("evenspread", "files")

    assert {right.resource for right in rights if right.verb not in READ_VERBS} == {"events"}


def test_without_audits_there_are_no_further_rights() -> None:
    assert list(list_audit_rights("evenspread", {})) == []


def test_audits_need_a_lease_lists_and_reports() -> None:
    settings = {"audit-interval": "10m", "policy-reports": "openreports.io"}
    fleets = KindRow("example.com", "", "Fleet", "fleets")

    rights = set(list_audit_rights("evenspread", settings, (fleets,)))

    assert rights >= {
        Right("get", "coordination.k8s.io", "leases", "evenspread-audit", namespaced=True),
        Right("list", "", "pods"),
        Right("list", "example.com", "fleets"),
        Right("create", "openreports.io", "reports"),
    }


def test_audits_without_reports_write_none() -> None:
    rights = list_audit_rights("evenspread", {"audit-interval": "10m"})

    assert {right.verb for right in rights} == {"get", "update", "list"}


def test_ranks_need_pods_and_corrections_the_lease_too() -> None:
    ranks = [*list_scale_down_rights("evenspread", keeps_spread=True, repairs=False)]
    corrections = [*list_scale_down_rights("evenspread", keeps_spread=True, repairs=True)]

    assert ranks == [Right("list", "", "pods"), Right("watch", "", "pods")]
    lease = ("coordination.k8s.io", "leases", "evenspread-audit")
    assert corrections == [
        *ranks,
        Right("get", "", "pods"),
        Right("patch", "", "pods"),
        Right("get", *lease, namespaced=True),
        Right("update", *lease, namespaced=True),
    ]
