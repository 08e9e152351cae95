"""The manifests agree with the server's own constants."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from certs.inject import WEBHOOK_KINDS
from certs.issue import service_hosts
from tests.deploy.manifests import CHART, Helm, Json, by_name
from webhook import __version__
from webhook.__main__ import main
from webhook.cluster.discovery import list_resources
from webhook.cluster.facts import Cluster
from webhook.cluster.policyexceptions import POLICY_EXCEPTION
from webhook.config.files import load
from webhook.config.ownerselectors import SHIPPED_OWNERS
from webhook.config.settings import Settings, read_settings
from webhook.config.spread import SpreadConfiguration
from webhook.config.spreadpolicies import SPREAD_POLICY
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES
from webhook.server.admission import HOOK_PATHS
from webhook.server.http.limits import MIB, Limits


@pytest.fixture(scope="module")
def objects(helm: Helm) -> dict[str, Json]:
    return by_name(helm.objects({}))


@pytest.fixture
def pod(objects: dict[str, Json]) -> Json:
    template: Json = objects["Deployment/evenspread"]["spec"]["template"]["spec"]
    return template


@pytest.fixture
def container(pod: Json) -> Json:
    only: Json = pod["containers"][0]
    return only


@pytest.fixture
def settings(container: Json) -> Settings:
    command, *flags = container["args"]
    assert command == "serve"
    given = (flag.removeprefix("--").split("=", 1) for flag in flags)
    return read_settings({name.replace("-", "_"): value for name, value in given})


def test_the_version_is_that_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_the_ports_are_those_of_the_settings(
    objects: dict[str, Json], container: Json, settings: Settings
) -> None:
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}

    assert ports == {"admission": settings.port, "health": settings.health_port}
    assert ports == {
        "admission": Settings.model_fields["port"].default,
        "health": Settings.model_fields["health_port"].default,
    }
    targets = [port["targetPort"] for port in objects["Service/evenspread"]["spec"]["ports"]]
    assert targets == list(ports)


def test_the_webhooks_call_the_paths_that_are_served(objects: dict[str, Json]) -> None:
    assert {
        webhook["clientConfig"]["service"]["path"]
        for kind in WEBHOOK_KINDS
        for webhook in objects[f"{kind}/evenspread"]["webhooks"]
    } == HOOK_PATHS.keys() - {"/bind"}  # called only if a profile keeps the spread


def test_the_certificate_is_for_the_service_that_is_called(
    objects: dict[str, Json], settings: Settings
) -> None:
    for kind in WEBHOOK_KINDS:
        for webhook in objects[f"{kind}/{settings.name}"]["webhooks"]:
            called = webhook["clientConfig"]["service"]
            assert f"{called['name']}.{called['namespace']}.svc" in service_hosts(
                settings.name, "evenspread"
            )
    assert f"Secret/{settings.name}-ca" in objects
    assert f"Service/{settings.name}" in objects


def test_the_webhooks_are_registered_as_specified(objects: dict[str, Json]) -> None:
    for kind, hook in (("Mutating", "mutate"), ("Validating", "validate")):
        (webhook,) = objects[f"{kind}WebhookConfiguration/evenspread"]["webhooks"]
        fixed = {name: webhook.get(name) for name in REGISTRATION}
        assert webhook["name"] == f"{hook}.evenspread.io"
        assert fixed == REGISTRATION
        assert webhook.get("reinvocationPolicy") == ("IfNeeded" if hook == "mutate" else None)
        assert "caBundle" not in webhook["clientConfig"]
        assert all(rule["scope"] == "Namespaced" for rule in webhook["rules"])


REGISTRATION = {
    "failurePolicy": "Ignore",
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "timeoutSeconds": 3,
    "matchPolicy": "Equivalent",
    "objectSelector": None,
    "matchConditions": None,
}


def test_the_webhooks_are_sent_what_the_policy_judges(objects: dict[str, Json]) -> None:
    wanted = {
        (template.group, f"{template.kind.lower()}s", operation)
        for template in (*BUILT_IN_TEMPLATES, *SHIPPED_TEMPLATES)
        for operation in ("CREATE", "UPDATE")
    } - {("", "pods", "UPDATE")}
    of_pods = {("", "pods", "CREATE")}

    for kind, unsent in (("Mutating", set[object]()), ("Validating", of_pods)):
        (webhook,) = objects[f"{kind}WebhookConfiguration/evenspread"]["webhooks"]
        assert {
            (group, resource, operation)
            for rule in webhook["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for operation in rule["operations"]
        } == wanted - unsent


def test_the_roles_allow_what_the_caches_follow_and_no_more(objects: dict[str, Json]) -> None:
    followed = {
        (
            place.root.removeprefix("/apis/").partition("/")[0] if "/apis/" in place.root else "",
            place.plural,
        )
        for resource in list_resources(Cluster(()))
        if (place := resource.place) is not None
    } | {(owner.kind.group, f"{owner.kind.kind.lower()}s") for owner in SHIPPED_OWNERS}
    followed.add((SPREAD_POLICY.group, "spreadpolicies"))
    followed.add((POLICY_EXCEPTION.group, "spreadpolicyexceptions"))

    rules = objects["ClusterRole/evenspread"]["rules"]
    assert {
        (group, resource)
        for rule in rules
        if "list" in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    } == followed
    status, hooks = (rule for rule in rules if "list" not in rule["verbs"])
    assert (status["resources"], status["verbs"]) == (["spreadpolicies/status"], ["patch"])
    assert set(hooks["resources"]) == set(WEBHOOK_KINDS.values())
    assert hooks["resourceNames"] == ["evenspread"]
    for role in ("ClusterRole/evenspread", "Role/evenspread"):
        for rule in objects[role]["rules"]:
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
            assert rule["resources"] != ["secrets"] or rule["resourceNames"] == ["evenspread-ca"]


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "every member": {
        "config": {
            "mode": "recommend",
            "rules": {"TSC101": "deny"},
            "fieldDefaults": "all",
            "featureGates": {"EvenspreadAdvice": True},
            "caOverlap": "5m",
        },
        "exemptNamespaces": ["istio-system"],
        "podTemplates": [
            {"group": "example.com", "kind": "Fleet", "resource": "fleets", "path": "spec.template"}
        ],
        "ownerSelectors": [
            {
                "group": "example.com",
                "kind": "Fleet",
                "resource": "fleets",
                "selectorPath": "spec.selector",
            }
        ],
    },
    "no defaults at all": {"schedulerConfiguration": ""},
}


@pytest.mark.parametrize("values", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_the_configuration_is_taken_without_a_mistake(
    helm: Helm, tmp_path: Path, values: dict[str, Any]
) -> None:
    data = by_name(helm.objects(values))["ConfigMap/evenspread"]["data"]
    for name, text in data.items():
        (tmp_path / name).write_text(text)

    configuration = load(str(tmp_path / "config.yaml"))

    assert configuration.notices == ()
    assert len(configuration.profiles) == (1 if "kube-scheduler.yaml" in data else 0)
    assert configuration.mode == values.get("config", {}).get("mode", "apply")


def test_the_values_have_every_member_of_the_configuration() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    elsewhere = {
        "apiVersion",
        "kind",
        "exempt",
        "podTemplates",
        "ownerSelectors",
        "constraintLists",
    }
    members = {camel(name) for name in SpreadConfiguration.model_fields}

    assert values["config"].keys() | elsewhere == members


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def test_the_pod_has_the_memory_and_the_time_that_the_limits_count_on(
    pod: Json, container: Json
) -> None:
    limits = Limits()

    assert pod["terminationGracePeriodSeconds"] == 60 > limits.drain_most + limits.finish
    assert container["resources"]["limits"] == {"memory": "512Mi"}
    assert limits.bodies + limits.connections * 282 * 1024 < (512 - 192) * MIB


def test_the_pod_is_restricted(pod: Json, container: Json) -> None:
    assert pod["securityContext"]["runAsUser"] == 65532
    assert pod["automountServiceAccountToken"] is True
    assert pod["enableServiceLinks"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_probes_are_pages_of_the_health_listener(container: Json) -> None:
    assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "health"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "health"}


def test_our_own_constraints_have_nothing_wrong(objects: dict[str, Json], tmp_path: Path) -> None:
    deployment = tmp_path / "deployment.yaml"
    deployment.write_text(yaml.safe_dump(objects["Deployment/evenspread"]))

    assert main(["validate", "-f", str(deployment)]) == 0
