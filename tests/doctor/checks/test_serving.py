"""Each check of replicas reports what deviates, and what to do."""

from typing import Any

import msgspec
import pytest

from tests.doctor.installations import (
    METRICS,
    UNREADY,
    answered,
    assert_reported,
    budget,
    build_installation,
    deployment,
    find_deviations,
    hooks,
    pod,
    replica,
    slices,
)
from webhook.doctor.installation import Lookup
from webhook.doctor.probes import ProbeNamespace, ProbeResult
from webhook.doctor.workload import ServerPod
from webhook.policy.request import Hook


def failed(message: str) -> dict[Hook, ProbeResult]:
    """The validating webhook is Fail, and could not be called."""
    calling = f'failed calling webhook "validate.evenspread.io": failed to call webhook: {message}'
    return {hook: ProbeResult(refusal=f"Internal error occurred: {calling}") for hook in Hook}


CASES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
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
    "a pod that fits no node": (
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
    "a priority class that the quota forbids": (
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
    "no replica is requested": (
        {"deployment": deployment({"spec": {"replicas": 0}}, 0)},
        {"replicas": "--replicas=2"},
    ),
    "no budget": ({"budgets": Lookup(())}, {"disruption-budget": "all of them at once"}),
    "a budget that allows no disruption": (
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
    "a refusal by another plugin": (
        {"probes": {hook: ProbeResult(refusal="no such tenant") for hook in Hook}},
        {"reached": "--probe-namespace"},
    ),
    "an unknown failure": (
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
}

NOTES = {"a doctor of another version", "no budget"}


@pytest.mark.parametrize("case", CASES)
def test_one_check_reports_the_deviation_and_the_fix(case: str) -> None:
    changes, expected = CASES[case]

    assert_reported(changes, expected, is_note=case in NOTES)


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


def test_a_webhook_that_is_not_called_for_the_namespace_of_the_probes_is_not_checked() -> None:
    selector = {"matchLabels": {"evenspread.io/inject": "true"}}

    assert_reported(
        {
            "probes": {hook: ProbeResult() for hook in Hook},
            "configurations": hooks({"namespaceSelector": selector}),
            "probe_namespace": ProbeNamespace("default", {}),
        },
        {
            "reached": "not checked: mutate.evenspread.io is not called for namespace default, but "
            "for namespaces with evenspread.io/inject=true"
        },
        is_note=True,
    )


@pytest.mark.parametrize("labels", [None, {"evenspread.io/inject": "true"}], ids=str)
def test_silence_where_the_webhooks_are_called_is_a_problem(labels: dict[str, str] | None) -> None:
    selector = {"matchLabels": {"evenspread.io/inject": "true"}}

    assert_reported(
        {
            "probes": {hook: ProbeResult() for hook in Hook},
            "configurations": hooks({"namespaceSelector": selector}),
            "probe_namespace": ProbeNamespace("shop", labels),
        },
        {"reached": "no replica answered for mutate.evenspread.io"},
        is_note=False,
    )


@pytest.mark.parametrize(("message", "means"), FAILURES.items(), ids=FAILURES)
def test_a_failed_call_is_explained(message: str, means: str) -> None:
    configurations = hooks({"failurePolicy": "Fail"}, Hook.VALIDATE)

    found = find_deviations(
        build_installation(probes=failed(message), configurations=configurations)
    )

    silent, failing = found["reached"].findings
    assert "no replica answered for mutate.evenspread.io" in silent.message
    assert means in failing.message
    assert "{" not in failing.advice


LACKS = "needs a right"
UNREADABLE: dict[str, tuple[dict[str, Any], set[str]]] = {
    "the probes": ({"probes": {hook: ProbeResult(problem=LACKS) for hook in Hook}}, {"reached"}),
    "the pods, without any replica": (
        {"pods": Lookup(problem=LACKS), "replicas": (), "probes": answered()},
        {"versions", "well"},
    ),
}


@pytest.mark.parametrize(("changes", "checks"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_check_names_the_right_that_it_needs(changes: dict[str, Any], checks: set[str]) -> None:
    found = find_deviations(build_installation(**changes))

    unreadable = {name for name, result in found.items() if result.unreadable == (LACKS,)}
    assert unreadable == checks


def test_a_pod_without_a_version_is_of_none() -> None:
    unlabelled = msgspec.convert({"metadata": {"name": "a"}}, ServerPod)

    assert find_deviations(build_installation(pods=Lookup((unlabelled,)))) == {}
