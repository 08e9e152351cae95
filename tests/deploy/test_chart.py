"""What the values of the chart do, and which it refuses."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.deploy.manifests import CHART, KUBERNETES, NAMESPACE, Helm, HelmError, Json, by_name
from webhook.config.configuration import policy
from webhook.config.files import load
from webhook.config.settings import read_settings
from webhook.doctor.drift import find_drift
from webhook.doctor.installation import CONFIGURATION_KINDS
from webhook.doctor.objects import WebhookConfiguration
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.catalogue import DEFAULT_ACTIONS, VALIDATED_RULES
from webhook.policy.request import Hook

HOOKS = ("MutatingWebhookConfiguration/evenspread", "ValidatingWebhookConfiguration/evenspread")


def test_it_has_nothing_to_be_warned_of(helm: Helm) -> None:
    output = helm.run("lint", "--strict", "--kube-version", KUBERNETES, str(CHART))

    assert "0 chart(s) failed" in output
    assert "[WARNING]" not in output


def test_every_value_has_a_comment() -> None:
    lines = (CHART / "values.yaml").read_text().splitlines()
    explained: dict[str, bool] = {}
    group = ""
    for before, line in itertools.pairwise(lines):
        if match := re.match(r"( {2})?(\w+):", line):
            group = group if match[1] else match[2]
            name = f"{group}.{match[2]}" if match[1] else group
            explained[name] = before.lstrip().startswith("#")

    for name, itself in explained.items():
        members = [value for other, value in explained.items() if other.startswith(f"{name}.")]
        as_a_group = explained[name.partition(".")[0]]
        assert itself or as_a_group or (members and all(members)), name


def test_the_schema_knows_each_value_and_no_other() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    assert schema["properties"].keys() - {"global"} == values.keys()
    for name, inner in schema["properties"].items():
        if "properties" in inner:
            assert inner["properties"].keys() == values[name].keys(), name


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a value that does not exist": ({"replicaCount": 3}, "replicaCount"),
    "a member that does not exist": ({"image": {"name": "x"}}, "name"),
    "another word for whether pods are validated": ({"validatePods": "never"}, "validatePods"),
    "another failure policy": ({"failurePolicy": {"validating": "fail"}}, "validating"),
    "a port that needs a right": ({"ports": {"admission": 443}}, "1,024"),
    "files without a Secret": ({"certificate": {"mode": "files"}}, "secretName"),
    "a kind without its resource": (
        {"podTemplates": [{"group": "example.com", "kind": "Fleet", "path": "spec"}]},
        "resource",
    ),
    "callers of two authorities": (
        {"certificate": {"clientCA": {"configMapName": "a", "secretName": "b"}}},
        "name one of them, not both",
    ),
    "names of callers without an authority": (
        {"certificate": {"clientNames": ["kube-apiserver"]}},
        "needs certificate.clientCA",
    ),
    "two callers in one name": (
        {"certificate": {"clientCA": {"secretName": "a"}, "clientNames": ["a,b"]}},
        "clientNames",
    ),
    "reports that nothing writes": (
        {"audit": {"policyReports": "wgpolicyk8s.io"}},
        "audit.policyReports needs audit.interval",
    ),
    "an interval that is no duration": ({"audit": {"interval": "often"}}, "interval"),
    "corrections of ranks that no pod gets": (
        {"config": {"scaleDownRepair": True}},
        "config.scaleDownRepair needs a profile with scaleDown: KeepSpread",
    ),
    "a quota for no class": ({"criticalQuota": True, "priorityClassName": ""}, "criticalQuota"),
}


@pytest.mark.parametrize(("values", "message"), REFUSED.values(), ids=REFUSED)
def test_a_mistake_is_refused(helm: Helm, values: dict[str, Any], message: str) -> None:
    with pytest.raises(HelmError, match=message):
        helm.text(values)


def hooks(helm: Helm, values: dict[str, Any]) -> list[Json]:
    objects = by_name(helm.objects(values))
    return [webhook for name in HOOKS for webhook in objects[name]["webhooks"]]


def test_one_value_exempts_namespaces_in_both_places(helm: Helm) -> None:
    values = {"exemptNamespaces": ["istio-system"]}

    config = yaml.safe_load(
        by_name(helm.objects(values))["ConfigMap/evenspread"]["data"]["config.yaml"]
    )
    assert config["exempt"]["namespaces"] == ["kube-system", "istio-system"]
    for webhook in hooks(helm, values):
        (expression,) = webhook["namespaceSelector"]["matchExpressions"]
        assert expression == {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", "istio-system", "evenspread"],
        }


def test_opting_in_is_by_a_label_of_the_namespace(helm: Helm) -> None:
    for webhook in hooks(helm, {"scope": "optIn"}):
        expression = webhook["namespaceSelector"]["matchExpressions"][1]
        assert expression == {"key": "evenspread.io/enabled", "operator": "In", "values": ["true"]}


def test_objects_can_be_labelled_past_the_webhooks_only_if_configured(helm: Helm) -> None:
    assert all("objectSelector" not in webhook for webhook in hooks(helm, {}))
    for webhook in hooks(helm, {"skipInSelector": True}):
        (expression,) = webhook["objectSelector"]["matchExpressions"]
        assert expression == {"key": "evenspread.io/skip", "operator": "NotIn", "values": ["true"]}


EMPTY_PROFILE: Json = {"name": "a", "defaultConstraints": []}

# values, whether pods are sent to the validating webhook
VALIDATING: dict[str, tuple[dict[str, Any], bool]] = {
    "as it is shipped": ({}, False),
    "a rule denies": ({"config": {"rules": {"TSC101": "deny"}}}, True),
    "a rule denies, in full": ({"config": {"rules": {"TSC101": {"action": "deny"}}}}, True),
    "one rule of several denies": (
        {"config": {"rules": {"TSC101": "warn", "TSC102": "deny", "TSC103": "audit"}}},
        True,
    ),
    "a rule of a profile denies": (
        {
            "config": {
                "profiles": [
                    EMPTY_PROFILE,
                    {**EMPTY_PROFILE, "name": "b", "rules": {"TSC101": "deny"}},
                ]
            }
        },
        True,
    ),
    "a rule of a profile warns": (
        {"config": {"profiles": [{**EMPTY_PROFILE, "rules": {"TSC101": {"action": "warn"}}}]}},
        False,
    ),
    "no rule denies": (
        {
            "config": {
                "rules": {
                    "TSC101": "warn",
                    "TSC102": {"exemptible": False},
                    "TSC103": {"action": "audit"},
                    "TSC104": False,
                }
            }
        },
        False,
    ),
    "rules deny that the validating webhook does not check": (
        {"config": {"rules": dict.fromkeys(DEFAULT_ACTIONS.keys() - VALIDATED_RULES, "deny")}},
        False,
    ),
    **{
        f"{rule} denies": ({"config": {"rules": {rule: "deny"}}}, True)
        for rule in sorted(VALIDATED_RULES)
    },
    "always": ({"validatePods": True}, True),
    "never": ({"validatePods": False, "config": {"rules": {"TSC101": "deny"}}}, False),
}


@pytest.mark.parametrize(("values", "sent"), VALIDATING.values(), ids=VALIDATING)
def test_pods_are_sent_to_the_validating_webhook_if_the_server_denies_some(
    helm: Helm, tmp_path: Path, values: dict[str, Any], sent: bool
) -> None:
    objects = by_name(helm.objects(values))

    registered = [_is_sent_pods(webhook) for name in HOOKS for webhook in objects[name]["webhooks"]]
    assert registered == [True, sent]
    assert _server_expects_pods(objects, tmp_path) is sent


def _is_sent_pods(webhook: Json) -> bool:
    return any("pods" in rule["resources"] for rule in webhook["rules"])


def _server_expects_pods(objects: dict[str, Json], folder: Path) -> bool:
    """What the server makes of the ConfigMap and the flags that it is started with."""
    for name, text in objects["ConfigMap/evenspread"]["data"].items():
        (folder / name).write_text(text)
    container = objects["Deployment/evenspread"]["spec"]["template"]["spec"]["containers"][0]
    (flag,) = (
        argument for argument in container["args"] if argument.startswith("--validate-pods=")
    )
    settings = read_settings({"validate_pods": flag.partition("=")[2]})
    configuration = load(str(folder / "config.yaml"))
    gates = resolve(NEWEST_VERSION, {})
    return policy(configuration, gates, validates_pods=settings.validates_pods).validates_pods


def binding(helm: Helm, values: dict[str, Any]) -> list[Json]:
    return [hook for hook in hooks(helm, values) if hook["name"] == "bind.evenspread.io"]


def keeping(**match: Any) -> Json:
    return {"name": "shops", "scaleDown": "KeepSpread", "match": match}


SHOPS = {"matchLabels": {"team": "shops"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}


def test_bindings_are_sent_only_if_a_profile_keeps_the_spread(helm: Helm) -> None:
    other = {"name": "other", "scaleDown": "None"}

    assert not binding(helm, {})
    assert not binding(helm, {"config": {"profiles": [other]}})
    (webhook,) = binding(helm, {"config": {"profiles": [other, keeping()]}})
    assert webhook["failurePolicy"] == "Ignore"
    assert webhook["timeoutSeconds"] == 2


def test_the_profile_limits_the_namespaces_whose_bindings_are_sent(helm: Helm) -> None:
    profile = keeping(namespaceSelector=SHOPS)
    usual = hooks(helm, {"scope": "optIn"})[0]["namespaceSelector"]["matchExpressions"]

    (webhook,) = binding(helm, {"scope": "optIn", "config": {"profiles": [profile]}})
    assert webhook["namespaceSelector"] == {
        "matchLabels": SHOPS["matchLabels"],
        "matchExpressions": [*usual, *SHOPS["matchExpressions"]],
    }


def test_several_profiles_do_not_limit_the_namespaces(helm: Helm) -> None:
    profiles = [keeping(namespaceSelector=SHOPS), keeping(namespaceSelector=SHOPS)]

    (webhook,) = binding(helm, {"config": {"profiles": profiles}})
    assert webhook["namespaceSelector"] == hooks(helm, {})[0]["namespaceSelector"]


def test_bindings_of_all_namespaces_are_sent_if_policies_may_keep_the_spread(helm: Helm) -> None:
    values = {"config": {"profiles": [keeping(namespaceSelector=SHOPS)]}}

    (webhook,) = binding(helm, {"policies": {"keepSpread": True}, **values})
    assert webhook["namespaceSelector"] == hooks(helm, {})[0]["namespaceSelector"]


def test_no_webhook_has_match_conditions(helm: Helm) -> None:
    assert all("matchConditions" not in webhook for webhook in hooks(helm, {}))


def test_custom_kinds_reach_configuration_webhooks_and_role(helm: Helm) -> None:
    kind = {"group": "example.com", "kind": "Fleet", "resource": "fleets"}
    values = {
        "podTemplates": [{**kind, "path": "spec.template"}],
        "ownerSelectors": [{**kind, "selectorPath": "spec.selector"}],
    }

    objects = by_name(helm.objects(values))
    config = yaml.safe_load(objects["ConfigMap/evenspread"]["data"]["config.yaml"])
    assert config["podTemplates"] == [
        {"group": "example.com", "kind": "Fleet", "path": "spec.template"}
    ]
    assert config["ownerSelectors"] == [
        {"group": "example.com", "kind": "Fleet", "selectorPath": "spec.selector"}
    ]
    for webhook in hooks(helm, values):
        assert webhook["rules"][-1]["resources"] == ["fleets"]
    assert {
        "apiGroups": ["example.com"],
        "resources": ["fleets"],
        "verbs": ["get", "list", "watch"],
    } in objects["ClusterRole/evenspread"]["rules"]


RENDERED: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "opt-in": {"scope": "optIn", "exemptNamespaces": ["kube-public"], "skipInSelector": True},
    "all pods validated": {"validatePods": True, "failurePolicy": {"validating": "Fail"}},
    "a spread that is kept": {
        "config": {"profiles": [{"name": "shops", "scaleDown": "KeepSpread"}]},
    },
    "a custom kind": {
        "podTemplates": [
            {"group": "a.io", "kind": "Fish", "resource": "fish", "path": "spec.template"}
        ]
    },
}


@pytest.mark.parametrize("values", RENDERED.values(), ids=RENDERED)
@pytest.mark.parametrize("hook", Hook)
def test_what_the_chart_renders_is_no_drift(helm: Helm, hook: Hook, values: dict[str, Any]) -> None:
    rendered = by_name(helm.objects(values))[f"{CONFIGURATION_KINDS[hook]}/evenspread"]
    configuration = msgspec.convert(rendered, WebhookConfiguration)
    place = {"name": "evenspread", "namespace": NAMESPACE}

    for plural in ("fish", ""):
        drift = find_drift(hook, configuration, **place, custom={("a.io", plural)})
        assert list(drift) == []


def test_a_foreign_certificate_needs_no_right_to_secrets(helm: Helm) -> None:
    objects = by_name(helm.objects({"certificate": {"mode": "files", "secretName": "serving"}}))

    assert "Secret/evenspread-ca" not in objects
    assert all("secrets" not in rule["resources"] for rule in objects["Role/evenspread"]["rules"])
    rules = objects["ClusterRole/evenspread"]["rules"]
    patched = [rule["resources"] for rule in rules if "patch" in rule["verbs"]]
    assert patched == [["spreadpolicies/status"]]
    pod = objects["Deployment/evenspread"]["spec"]["template"]["spec"]
    assert {"name": "certificate", "secret": {"secretName": "serving"}} in pod["volumes"]
    assert "--tls=files" in pod["containers"][0]["args"]


CLIENTS: dict[str, tuple[str, Json]] = {
    "a ConfigMap": ("configMapName", {"configMap": {"name": "callers"}}),
    "a Secret": ("secretName", {"secret": {"secretName": "callers"}}),
}


@pytest.mark.parametrize(("member", "source"), CLIENTS.values(), ids=CLIENTS)
def test_the_authority_of_callers_is_taken_from(helm: Helm, member: str, source: Json) -> None:
    certificate = {
        "clientCA": {member: "callers", "key": "clients.pem"},
        "clientNames": ["kube-apiserver", "spare"],
    }

    objects = by_name(helm.objects({"certificate": certificate}))
    pod = objects["Deployment/evenspread"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    flags = [flag for flag in container["args"] if flag.startswith("--client-")]
    assert flags == [
        "--client-ca=/etc/evenspread-clients/ca.crt",
        "--client-names=kube-apiserver,spare",
    ]
    mount = {"name": "clients", "mountPath": "/etc/evenspread-clients", "readOnly": True}
    assert mount in container["volumeMounts"]
    ((kind, named),) = source.items()
    items = [{"key": "clients.pem", "path": "ca.crt"}]
    assert {"name": "clients", kind: {**named, "items": items}} in pod["volumes"]


IMAGES: dict[str, tuple[dict[str, str], str]] = {
    "the version of the chart": ({}, "evenspread:0.1.0"),
    "a tag": ({"repository": "example.com/evenspread", "tag": "x"}, "example.com/evenspread:x"),
    "a digest before a tag": (
        {"tag": "x", "digest": f"sha256:{'a' * 64}"},
        f"evenspread@sha256:{'a' * 64}",
    ),
}


@pytest.mark.parametrize(("image", "reference"), IMAGES.values(), ids=IMAGES)
def test_the_image_is(helm: Helm, image: dict[str, str], reference: str) -> None:
    pod = by_name(helm.objects({"image": image}))["Deployment/evenspread"]["spec"]["template"]

    assert pod["spec"]["containers"][0]["image"] == reference


def test_another_name_is_the_name_of_all(helm: Helm) -> None:
    text = helm.text({"name": "spreader"})

    named = {obj["metadata"]["name"] for obj in yaml.safe_load_all(text) if obj}
    kinds = {f"{kind}.evenspread.io" for kind in ("spreadpolicies", "spreadpolicyexceptions")}
    assert named == {"spreader", "spreader-audit", "spreader-ca", *kinds}
    assert "--name=spreader" in text


def test_a_network_policy_limits_ingress_to_two_ports_and_egress_if_configured(helm: Helm) -> None:
    to_api_server = [{"to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}], "ports": [{"port": 443}]}]
    default, limited = (
        by_name(helm.objects(values))["NetworkPolicy/evenspread"]["spec"]
        for values in ({}, {"networkPolicy": {"egress": to_api_server}})
    )

    ports = [port["port"] for rule in default["ingress"] for port in rule["ports"]]
    assert (ports, default["policyTypes"]) == (["admission", "health"], ["Ingress"])
    assert (limited["egress"], limited["policyTypes"]) == (to_api_server, ["Ingress", "Egress"])
