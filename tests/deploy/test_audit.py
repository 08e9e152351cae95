"""Audits in the chart: off by default, and with exactly the needed rights if on."""

from typing import Any

import pytest

from tests.deploy.manifests import Helm, Json, by_name
from webhook.audit.listing import LISTED_BUILT_IN, LISTED_CLUSTER_SCOPED, LISTED_PODS
from webhook.config.settings import read_settings
from webhook.policy.kinds import CUSTOM_KINDS
from webhook.server.audits.policyreports import DIALECTS

FOLLOWED = {
    *("namespaces", "nodes", "services", "replicationcontrollers", "replicasets"),
    *("statefulsets", "rollouts"),
}
"""What the server may list without audits, as test_agreement has it."""

LEASE = "evenspread-audit"


def audited(helm: Helm, reports: str = "none") -> dict[str, Json]:
    return by_name(helm.objects({"audit": {"interval": "10m", "policyReports": reports}}))


def granted(objects: dict[str, Json], role: str) -> dict[tuple[str, str], list[str]]:
    return {
        (group, resource): rule["verbs"]
        for rule in objects[f"{role}/{LEASE}"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


LEASE_OBJECTS = {f"{kind}/{LEASE}" for kind in ("Lease", "Role", "RoleBinding")}

# values without audits -> what there is for them
OFF: dict[str, tuple[dict[str, Any], set[str]]] = {
    "the Lease is that of SpreadPolicies": ({}, LEASE_OBJECTS),
    "there are no SpreadPolicies": ({"policies": {"source": "file"}}, set()),
}


@pytest.mark.parametrize(("values", "names"), OFF.values(), ids=OFF)
def test_they_are_off_unless_configured(
    helm: Helm, values: dict[str, Any], names: set[str]
) -> None:
    assert {name for name in by_name(helm.objects(values)) if name.endswith("-audit")} == names


def test_the_server_takes_the_flags(helm: Helm) -> None:
    container = audited(helm, "openreports.io")["Deployment/evenspread"]["spec"]["template"][
        "spec"
    ]["containers"][0]
    _, *flags = container["args"]
    given = (flag.removeprefix("--").split("=", 1) for flag in flags)
    settings = read_settings({name.replace("-", "_"): value for name, value in given})

    assert settings.audit_pause is not None
    assert settings.policy_reports == "openreports.io"
    assert f"Lease/{settings.name}-audit" in audited(helm)


def test_the_lease_is_empty_and_the_only_one_that_may_be_written(helm: Helm) -> None:
    objects = audited(helm)
    (rule,) = objects[f"Role/{LEASE}"]["rules"]

    assert "spec" not in objects[f"Lease/{LEASE}"]
    assert (rule["resourceNames"], rule["verbs"]) == ([LEASE], ["get", "update"])


def test_all_that_is_audited_may_be_listed_and_nothing_else(helm: Helm) -> None:
    rights = granted(audited(helm), "ClusterRole")
    custom = {row for row in CUSTOM_KINDS.values() if row.audited}
    listed = {
        (row.group, row.plural)
        for row in (*LISTED_CLUSTER_SCOPED, *LISTED_BUILT_IN, LISTED_PODS, *custom)
    }

    assert rights.keys() == {
        resource
        for resource in listed
        if resource[1] not in FOLLOWED or resource[0] in {"apps.kruise.io", "serving.knative.dev"}
    }
    assert all(verbs == ["list"] for verbs in rights.values())


@pytest.mark.parametrize("group", DIALECTS)
def test_reports_of_one_group_may_be_written(helm: Helm, group: str) -> None:
    rights = granted(audited(helm, group), "ClusterRole")
    without = granted(audited(helm), "ClusterRole")

    assert {name: verbs for name, verbs in rights.items() if name not in without} == {
        (group, DIALECTS[group][1]): ["list", "create", "update", "delete"]
    }
