"""Installations put to all checks: which ones tell, and what they advise."""

from typing import Any

import pytest

from tests.certs.world import authority, leaf
from tests.deploy.manifests import Json
from tests.doctor.patient import (
    BASE,
    CA,
    METRICS,
    OWN,
    UNREADY,
    after,
    answered,
    budget,
    configuration,
    deployment,
    hooks,
    patient,
    pod,
    replica,
    secret,
    slices,
    told,
)
from webhook.doctor import objects, webhooks
from webhook.doctor.findings import CheckState
from webhook.doctor.installation import ConflictingPolicy, DryRunPod, Lookup, Replica
from webhook.doctor.probes import ProbeResult
from webhook.doctor.rights import list_needed_rights
from webhook.doctor.table import CHECKS, run_checks
from webhook.policy.model import Constraint, ObjectMeta
from webhook.policy.request import Hook

STRANGER = authority()
PAIR = leaf(CA, "evenspread.evenspread.svc")
KEYS = "MatchLabelKeysInPodTopologySpread"
MERGE = f"{KEYS}SelectorMerge"
RACK = Constraint(topology_key="rack")
HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
WITH_PODS = BASE["MutatingWebhookConfiguration/evenspread"]["webhooks"][0]["rules"]


def serving_with(*flags: str) -> Json:
    """A Deployment whose server has these flags alone."""
    return {"spec": {"template": {"spec": {"containers": [{"args": ["serve", *flags]}]}}}}


def failed(message: str) -> dict[Hook, ProbeResult]:
    """The validating webhook is Fail, and could not be called."""
    calling = f'failed calling webhook "validate.evenspread.io": failed to call webhook: {message}'
    return {hook: ProbeResult(refusal=f"Internal error occurred: {calling}") for hook in Hook}


def rule(**changes: Any) -> Json:
    every = {"apiGroups": ["*"], "resources": ["*"], "operations": ["*"], "scope": "Namespaced"}
    return {"rules": [{**every, **changes}]}


TOLD: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "nothing is registered": (
        {"configurations": {hook: Lookup() for hook in Hook}},
        {"registered": "apply the manifests again"},
    ),
    "a configuration without our webhook": (
        {"configurations": {**hooks(), Hook.VALIDATE: Lookup(webhooks.WebhookConfiguration())}},
        {"registered": "has no webhook validate.evenspread.io"},
    ),
    "a webhook that is called by URL": (
        {"configurations": hooks({"clientConfig": {"service": None, "url": "https://a/"}})},
        {"called-service": "called by URL"},
    ),
    "a webhook that calls another Service": (
        {"configurations": hooks({"clientConfig": {"service": {"name": "web"}}})},
        {"called-service": "evenspread/web/mutate, not evenspread/evenspread/mutate"},
    ),
    "a webhook that is not called on updates": (
        {"configurations": hooks(rule(operations=["CREATE"]), Hook.VALIDATE)},
        {"rules": "not called for UPDATE cronjobs"},
    ),
    "a webhook that is called for deletions": (
        {"configurations": hooks(rule(resources=["*"]), Hook.MUTATE)},
        {"rules": "every resource, DELETE, CONNECT"},
    ),
    "a webhook that is called for the whole cluster": (
        {"configurations": hooks(rule(scope="*"))},
        {"rules": "objects outside of namespaces"},
    ),
    "a custom kind that no rule names": (
        {
            "configuration": configuration(
                "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
                "podTemplates: [{group: example.com, kind: Fleet, path: spec.template}]\n"
            )
        },
        {"rules": "not called for Fleet.example.com"},
    ),
    "another matchPolicy": (
        {"configurations": hooks({"matchPolicy": "Exact"}, Hook.VALIDATE)},
        {"fixed-members": "matchPolicy: Exact, not Equivalent"},
    ),
    "no reinvocation": (
        {"configurations": hooks({"reinvocationPolicy": "Never"})},
        {"fixed-members": "mutate.evenspread.io has reinvocationPolicy: Never"},
    ),
    "another version of reviews": (
        {"configurations": hooks({"admissionReviewVersions": ["v1beta1"]})},
        {"fixed-members": "no v1 in admissionReviewVersions"},
    ),
    "a long timeout": (
        {"configurations": hooks({"timeoutSeconds": 11}, Hook.MUTATE)},
        {"timeouts": '"path":"/webhooks/0/timeoutSeconds","value":3'},
    ),
    "Fail before one replica": (
        {
            "configurations": hooks({"failurePolicy": "Fail"}, Hook.VALIDATE),
            "deployment": deployment({"spec": {"replicas": 1}}),
        },
        {"failure-policy": "scale deployment evenspread --replicas=2"},
    ),
    "a mutating webhook of Fail": (
        {"configurations": hooks({"failurePolicy": "Fail"}, Hook.MUTATE)},
        {"failure-policy": '"path":"/webhooks/0/failurePolicy","value":"Ignore"'},
    ),
    "no namespace left out": (
        {"configurations": hooks({"namespaceSelector": None})},
        {"exemptions": "called for namespace kube-system"},
    ),
    "a rule that denies, without its pods": (
        {"configuration": configuration(f"{HEAD}rules: {{TSC101: deny}}\n")},
        {"validated-pods": "deny for TSC101, and validate.evenspread.io is not called for CREATE"},
    ),
    "a flag that wants pods, without them": (
        {"settings": {"validate-pods": "true"}},
        {"validated-pods": "deploy/kustomize/validate-pods"},
    ),
    "pods that no rule denies": (
        {"configurations": hooks({"rules": WITH_PODS}, Hook.VALIDATE)},
        {"validated-pods": "helm upgrade, or kubectl apply -k, with validatePods: auto or false"},
    ),
    "a condition that costs time": (
        {"configurations": hooks({"matchConditions": [{"name": "a", "expression": "true"}]})},
        {"match-conditions": "which took 0.5 ms per pod"},
    ),
    "a condition of the short form": (
        {
            "configurations": hooks(
                {
                    "matchConditions": [
                        {"name": "a", "expression": "!('b' in object.metadata.annotations)"}
                    ]
                }
            )
        },
        {"match-conditions": "!has(object.metadata.annotations)"},
    ),
    "no Service": ({"service": Lookup()}, {"service": "does not exist"}),
    "a Service without that port": (
        {"configurations": hooks({"clientConfig": {"service": {"port": 9443}}}, Hook.MUTATE)},
        {"service": "calls port 9443 of the Service, which has 443, 8080"},
    ),
    "no endpoint": ({"slices": slices()}, {"endpoints": "no ready endpoint"}),
    "no ready endpoint": ({"slices": slices(False)}, {"endpoints": "get pods,endpointslices"}),
    "no Deployment": ({"deployment": Lookup()}, {"replicas": "does not exist"}),
    "an image that cannot be pulled": (
        {
            "deployment": deployment(available=1),
            "pods": Lookup(
                (
                    pod("evenspread-1"),
                    pod(
                        "evenspread-2",
                        ready=False,
                        containerStatuses=[
                            {"state": {"waiting": {"reason": "ErrImagePull", "message": "denied"}}}
                        ],
                    ),
                )
            ),
        },
        {"replicas": "1 of 2 replicas are available; evenspread-2: ErrImagePull: denied"},
    ),
    "a pod that no node takes": (
        {
            "deployment": deployment(available=0),
            "pods": Lookup(
                (
                    pod(
                        "evenspread-1",
                        ready=False,
                        conditions=[{"type": "PodScheduled", "status": "False", "message": "full"}],
                    ),
                    pod("evenspread-2", ready=False, phase="Pending"),
                )
            ),
        },
        {"replicas": "0 of 2 replicas are available; evenspread-1: full; evenspread-2: Pending"},
    ),
    "a priority class that is not let in": (
        {
            "deployment": deployment(
                {
                    "status": {
                        "availableReplicas": None,
                        "conditions": [
                            {
                                "type": "ReplicaFailure",
                                "message": "forbidden: insufficient quota to match these scopes",
                            }
                        ],
                    }
                }
            )
        },
        {"replicas": "helm upgrade --set criticalQuota=true"},
    ),
    "pods that are refused": (
        {
            "deployment": deployment(
                {"status": {"conditions": [{"type": "ReplicaFailure", "message": "restricted"}]}}, 0
            )
        },
        {"replicas": "0 of 2 replicas are available: restricted"},
    ),
    "no replica is wanted": (
        {"deployment": deployment({"spec": {"replicas": 0}}, 0)},
        {"replicas": "--replicas=2"},
    ),
    "no budget": ({"budgets": Lookup(())}, {"disruption-budget": "all of them at once"}),
    "a budget that lets nobody go": (
        {"budgets": budget(disruptionsAllowed=0)},
        {"disruption-budget": "set maxUnavailable: 1"},
    ),
    "silence": (
        {"probes": {hook: ProbeResult() for hook in Hook}},
        {"reached": "failurePolicy Ignore hides why"},
    ),
    "silence under Fail": (
        {
            "probes": {hook: ProbeResult() for hook in Hook},
            "configurations": hooks({"failurePolicy": "Fail"}, Hook.VALIDATE),
        },
        {"reached": "no replica answered for validate.evenspread.io\n"},
    ),
    "a refusal of somebody else": (
        {"probes": {hook: ProbeResult(refusal="no such tenant") for hook in Hook}},
        {"reached": "--probe-namespace"},
    ),
    "a failure that nobody knows": (
        {"probes": failed("odd")},
        {"reached": "kubectl -n evenspread logs deployment/evenspread"},
    ),
    "two versions": (
        {"probes": answered("0.1.0", "0.2.0")},
        {"versions": "0.1.0 (evenspread-1), 0.2.0 (evenspread-2)"},
    ),
    "another version in a pod": (
        {"pods": Lookup((pod("evenspread-1"), pod("evenspread-2", "0.0.9")))},
        {"versions": "rollout undo"},
    ),
    "another version in a page": (
        {"replicas": (replica(metrics=METRICS.replace('"0.1.0"', '"0.3.0"')),)},
        {"versions": "0.3.0 (evenspread-1)"},
    ),
    "a doctor of another version": ({"version": "0.2.0"}, {"versions": "-- evenspread doctor"}),
    "a replica that is not ready": (
        {"replicas": (replica(UNREADY),)},
        {"well": "evenspread-1: certificate: old\nkubectl -n evenspread logs evenspread-1"},
    ),
    "a replica that is not ready, and known by its address": (
        {"replicas": (replica(UNREADY, name="127.0.0.1:8080"),)},
        {"well": "kubectl -n evenspread logs deployment/evenspread"},
    ),
    "an old cache": (
        {"replicas": (replica(metrics=METRICS.replace("12.5", "121")),)},
        {"well": "about Node: 121 s ago"},
    ),
    "an empty cache": (
        {"replicas": (replica(metrics=METRICS.replace("12.5", "+Inf")),)},
        {"well": "about Node: never"},
    ),
    "a configuration that came too late": (
        {"replicas": (replica(metrics=METRICS.replace("valid 1.0", "valid 0.0")),)},
        {"well": "a newer configuration is invalid"},
    ),
    "a certificate that is not trusted": (
        {"replicas": (replica(metrics=METRICS.replace("sync 1.0", "sync 0.0")),)},
        {"well": "do not trust its certificate"},
    ),
    "an empty caBundle": (
        {"configurations": hooks({"clientConfig": {"caBundle": ""}}, Hook.VALIDATE)},
        {"ca-bundle": "the caBundle of validate.evenspread.io is empty"},
    ),
    "a caBundle that is no PEM": (
        {"configurations": hooks({"clientConfig": {"caBundle": "!"}}, Hook.MUTATE)},
        {"ca-bundle": "a replica writes it within seconds"},
    ),
    "a caBundle of another authority": (
        {"authority": secret("ca.crt", STRANGER)},
        {"ca-bundle": "in Secret evenspread/evenspread-ca"},
    ),
    "a served leaf of another authority": (
        {"served": leaf(STRANGER).leaf},
        {"ca-bundle": "does not verify the served certificate"},
    ),
    "an empty caBundle in mode files": (
        {
            "configurations": hooks({"clientConfig": {"caBundle": None}}),
            "deployment": deployment(serving_with("--tls=files")),
        },
        {"ca-bundle": "cert-manager.io/inject-ca-from"},
    ),
    "no Secret": ({"authority": Lookup()}, {"certificates": "does not exist"}),
    "an authority that has expired": (
        {"now": after(366)},
        {"certificates": "evenspread certs rotate --ca -n evenspread --name evenspread"},
    ),
    "an authority that should have been renewed": (
        {"now": after(275)},
        {"certificates": "its renewal is overdue"},
    ),
    "a clock that is behind": ({"now": after(-1)}, {"certificates": "compare the clocks"}),
    "a mounted certificate that has expired": (
        {"serving": secret("tls.crt", PAIR), "now": after(8)},
        {"certificates": "have its issuer renew it"},
    ),
    "a served certificate that is overdue": (
        {"served": PAIR.leaf, "now": after(5.5)},
        {"certificates": "the served certificate expires at"},
    ),
    "rights that are not granted": (
        {
            "rights": {
                each: Lookup(each.resource != "secrets")
                for each in list_needed_rights("evenspread", "self")
            }
        },
        {"rights": "may not get on secrets evenspread-ca, patch on secrets evenspread-ca"},
    ),
    "no ConfigMap": ({"configuration": Lookup()}, {"configuration": "does not exist"}),
    "an entry that is missing": (
        {"configuration": Lookup(objects.ConfigMap(data={"other.yaml": ""}))},
        {"configuration": "'config.yaml' is not in the ConfigMap, which has other.yaml"},
    ),
    "a configuration with mistakes": (
        {"configuration": configuration("apiVersion: evenspread.io/v1alpha1\nkind: Odd\n")},
        {"configuration": "evenspread config check"},
    ),
    "an old Kubernetes": ({"kubernetes": "v1.27.4"}, {"kubernetes": "upgrade to 1.28 or later"}),
    "no version that can be read": ({"kubernetes": "odd"}, {"kubernetes": "older than 1.28"}),
    "a new Kubernetes": ({"kubernetes": "v1.99.0"}, {"kubernetes": "newer than 1.37"}),
    "a gate that is off in the API server alone": (
        {"features": Lookup({"MatchLabelKeysInPodTopologySpread": False})},
        {"gates": "featureGates: {MatchLabelKeysInPodTopologySpread: false}"},
    ),
    "a gate that is off here alone": (
        {
            "deployment": deployment(serving_with(f"--feature-gates={KEYS}=false,{MERGE}=false")),
            "features": Lookup({"MatchLabelKeysInPodTopologySpread": True}),
        },
        {"gates": "its fields are removed here"},
    ),
    "a policy of somebody else": (
        {"conflicts": Lookup((ConflictingPolicy("Assign", "spread"),))},
        {"other-writers": "Assign spread writes topologySpreadConstraints too"},
    ),
    "constraints of somebody else": (
        {
            "dry_run_pods": Lookup((DryRunPod(None, (RACK,), ()),)),
            "mutating": Lookup(
                (
                    hooks()[Hook.MUTATE].value,
                    webhooks.WebhookConfiguration(
                        metadata=ObjectMeta(name="meddler"),
                        webhooks=(
                            webhooks.Webhook(
                                name="a.b.c",
                                client_config=webhooks.ClientConfig(),
                                rules=(
                                    webhooks.WebhookRule(
                                        resources=("pods",), operations=("CREATE",)
                                    ),
                                ),
                            ),
                        ),
                    ),
                    webhooks.WebhookConfiguration(metadata=ObjectMeta(name="idle")),
                )
            ),
        },
        {"other-writers": "other webhooks that are called for them: meddler\n"},
    ),
    "a constraint that is gone": (
        {"dry_run_pods": Lookup((DryRunPod(None, (), (OWN,)),))},
        {"other-writers": "none is readable"},
    ),
}

NOTES = {
    "pods that no rule denies",
    "a condition that costs time",
    "a mutating webhook of Fail",
    "no budget",
    "a doctor of another version",
    "a new Kubernetes",
    "a gate that is off here alone",
}


@pytest.mark.parametrize("case", TOLD)
def test_what_is_wrong_is_told_by_one_check_with_what_to_do(case: str) -> None:
    changes, expected = TOLD[case]

    found = told(patient(**changes))

    assert found.keys() == expected.keys()
    for name, words in expected.items():
        said = "\n".join(f"{each.message}\n{each.advice}" for each in found[name].findings)
        assert words in said
    state = CheckState.NOTE if case in NOTES else CheckState.PROBLEM
    assert {each.state for each in found.values()} == {state}


def test_every_check_has_a_case() -> None:
    tellers = {name for _, expected in TOLD.values() for name in expected}

    assert tellers == {row.id for row in CHECKS}


FAILURES = {
    'service "evenspread" not found': "the Service does not exist",
    'no endpoints available for service "evenspread"': "the Service has no ready endpoint",
    "no service port 443 found for service": "the Service has no such port",
    "dial tcp 10.0.0.1:443: connect: connection refused": "nothing listens",
    'Post "https://a/?timeout=3s": EOF': "the connection closes",
    "tls: failed to verify certificate: x509: certificate signed by unknown authority": (
        "the caBundle is not from the authority"
    ),
    "x509: certificate has expired or is not yet valid: now": "has expired, or a clock",
    "x509: certificate is valid for a, not b": "is for another name",
    "remote error: tls: certificate required": "requires a client certificate",
    "unable to load root certificates: unable to parse bytes as PEM block": "no readable",
    'Post "https://a/?timeout=3s": context deadline exceeded': "no response in time",
    "dial tcp 10.0.0.1:443: i/o timeout": "no response in time",
}


@pytest.mark.parametrize(("message", "means"), FAILURES.items(), ids=FAILURES)
def test_what_an_api_server_says_is_interpreted(message: str, means: str) -> None:
    configurations = hooks({"failurePolicy": "Fail"}, Hook.VALIDATE)

    found = told(patient(probes=failed(message), configurations=configurations))

    silent, failing = found["reached"].findings
    assert "no replica answered for mutate.evenspread.io" in silent.message
    assert means in failing.message
    assert "{" not in failing.advice


def test_a_healthy_installation_has_nothing() -> None:
    assert told(patient()) == {}
    assert [each.state for each in run_checks(patient())] == [CheckState.OK] * len(CHECKS)


LACKS = "needs a right"
UNSEEN: dict[str, tuple[dict[str, Any], set[str]]] = {
    "the webhook configurations": (
        {"configurations": {hook: Lookup(problem=LACKS) for hook in Hook}},
        {
            "registered",
            "called-service",
            "rules",
            "fixed-members",
            "timeouts",
            "failure-policy",
            "exemptions",
            "validated-pods",
            "match-conditions",
            "service",
            "reached",
            "ca-bundle",
        },
    ),
    "the Deployment": (
        {"deployment": Lookup(problem=LACKS)},
        {"replicas", "disruption-budget"},
    ),
    "the Secret": ({"authority": Lookup(problem=LACKS)}, {"ca-bundle", "certificates"}),
    "the pods": ({"pods": Lookup(problem=LACKS), "replicas": ()}, {"well"}),
    "the pages of a replica": (
        {"replicas": (Replica("a", Lookup(problem=LACKS), Lookup(problem=LACKS)),)},
        {"well"},
    ),
    "what the API server says of itself": ({"features": Lookup(problem=LACKS)}, {"gates"}),
    "the rights": (
        {
            "rights": {
                each: Lookup[bool](problem=LACKS)
                for each in list_needed_rights("evenspread", "self")
            }
        },
        {"rights"},
    ),
    "tries": (
        {
            "probes": {hook: ProbeResult(problem=LACKS) for hook in Hook},
            "dry_run_pods": Lookup(problem=LACKS),
        },
        {"reached", "other-writers"},
    ),
}


@pytest.mark.parametrize(("changes", "checks"), UNSEEN.values(), ids=UNSEEN)
def test_what_nobody_may_look_at_is_said(changes: dict[str, Any], checks: set[str]) -> None:
    found = told(patient(**changes))

    assert found.keys() == checks - (
        {"disruption-budget"} if "configurations" in changes else set()
    )
    assert {each.unreadable for each in found.values()} == {(LACKS,)}
    assert {each.state for each in found.values()} == {CheckState.UNKNOWN}


def test_what_is_found_counts_though_more_could_not_be_looked_at() -> None:
    configurations = {**hooks({"timeoutSeconds": 30}), Hook.VALIDATE: Lookup(problem=LACKS)}

    found = told(patient(configurations=configurations))["timeouts"]

    assert (len(found.findings), found.unreadable, found.state) == (1, (LACKS,), CheckState.PROBLEM)


def test_ids_are_told_once() -> None:
    assert len({row.id for row in CHECKS}) == len(CHECKS)
