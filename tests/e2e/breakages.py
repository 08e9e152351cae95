"""Broken installations: how each is broken, and what the doctor has to report."""

import base64
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import timedelta

from tests.certs.world import authority, leaf, real_clock
from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.deploy.manifests import NAMESPACE
from tests.e2e.customkinds import define, definition
from tests.e2e.examined import KINDS, NAME, ExaminedInstallation
from tests.e2e.other_webhook import other_webhook

FAIL = ("replace", "/failurePolicy", "Fail")
SHORT_FORM = "!('kubernetes.io/config.mirror' in object.metadata.annotations)"

Break = Callable[[ExaminedInstallation], AbstractContextManager[None]]

BROKEN: dict[str, tuple[Break, dict[str, str]]] = {}
"""How each installation is broken, and the checks that report it, with a part of their advice."""


def broken(sentence: str, **expected: str) -> Callable[[Break], Break]:
    """Enter a case; the ids of checks with underscores."""

    def enter(break_it: Break) -> Break:
        BROKEN[sentence] = break_it, {key.replace("_", "-"): expected[key] for key in expected}
        return break_it

    return enter


def names(*kinds: str) -> list[str]:
    return [f"{kind}WebhookConfiguration/evenspread" for kind in kinds]


@broken("nothing is registered", registered="apply the manifests again")
def _unregistered(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    return installation.without(*names(*KINDS))


@broken(
    "only the validating webhook is registered",
    registered="MutatingWebhookConfiguration evenspread does not exist",
)
def _half_registered(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    return installation.without(*names("Mutating"))


@broken(
    "the caBundle is of another authority, and no replica may fix it",
    ca_bundle="no other client may write it",
    rights="patch on mutatingwebhookconfigurations.admissionregistration.k8s.io evenspread",
    reached="compare both: evenspread certs -n evenspread --name evenspread",
)
@contextmanager
def _foreign_bundle(installation: ExaminedInstallation) -> Iterator[None]:
    foreign = base64.b64encode(authority().certificate_pem()).decode()
    with (
        installation.patched(
            "ClusterRole/evenspread", ("replace", patching(installation), ["get"])
        ),
        installation.hooks_patched(("replace", "/clientConfig/caBundle", foreign), FAIL),
    ):
        yield


def patching(installation: ExaminedInstallation) -> str:
    """The path to the verbs by which the server writes its caBundle."""
    rules = installation.objects["ClusterRole/evenspread"]["rules"]
    group = "admissionregistration.k8s.io"
    (at,) = (
        i for i, rule in enumerate(rules) if "patch" in rule["verbs"] and group in rule["apiGroups"]
    )
    return f"/rules/{at}/verbs"


@broken(
    "the caBundle is emptied, and no replica runs to write it",
    ca_bundle="see why none does: kubectl -n evenspread logs deployment/evenspread",
    reached="fix the other findings first",
)
@contextmanager
def _emptied_bundle(installation: ExaminedInstallation) -> Iterator[None]:
    with (
        installation.all_down(),
        installation.hooks_patched(("replace", "/clientConfig/caBundle", "")),
    ):
        yield


@broken(
    "the Service has no ready endpoint",
    endpoints="kubectl -n evenspread get pods,endpointslices",
)
def _no_endpoint(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    return installation.patched(
        "EndpointSlice/evenspread", ("replace", "/endpoints/0/conditions/ready", False)
    )


@broken(
    "the Service is gone",
    service="apply the manifests again",
    reached="the Service does not exist",
)
@contextmanager
def _no_service(installation: ExaminedInstallation) -> Iterator[None]:
    # An API server goes on calling on the connections that it has; so they are closed.
    gone = installation.without("Service/evenspread")
    with installation.hooks_patched(FAIL, kinds=("Validating",)), gone, installation.all_down():
        yield


@broken(
    "the webhooks call another port",
    service="calls port 20 of the Service",
    reached="compare targetPort of the Service with --port of the container",
)
def _wrong_port(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    return installation.hooks_patched(("replace", "/clientConfig/service/port", 20), FAIL)


@broken(
    "a webhook calls another path",
    called_service="evenspread/evenspread/validat,",
    reached="no replica answered for validate.evenspread.io",
)
def _wrong_path(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    return installation.hooks_patched(
        ("replace", "/clientConfig/service/path", "/validat"), kinds=("Validating",)
    )


@broken("a replica is down", replicas="kubectl -n evenspread describe pods")
@contextmanager
def one_replica_down(installation: ExaminedInstallation) -> Iterator[None]:
    replica, pod = (
        next(iter(installation.replicas.values())),
        installation.pods[0],
    )  # which one, does not matter
    gone = [{"type": "Ready", "status": "False", "message": "containers with unready status"}]
    replica.process.kill()
    installation.service.remove(replica.port)
    installation.api.merge(pod, {"status": {"conditions": gone}}, subresource="/status")
    installation.available(1)
    yield
    replica.process.start()
    installation.service.add(replica.wait().port)
    installation.admit()


@broken("no replica answers", reached="`failed calling webhook`")
def _hidden(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    return installation.all_down()


@broken("no replica answers, under Fail", reached="see whether the replicas restart")
@contextmanager
def _cut(installation: ExaminedInstallation) -> Iterator[None]:
    with installation.all_down(), installation.hooks_patched(FAIL, kinds=("Validating",)):
        yield


@broken(
    "the replicas hang, under Fail",
    reached="let the API servers reach the admission port of the pods",
)
@contextmanager
def _hanging(installation: ExaminedInstallation) -> Iterator[None]:
    with installation.hooks_patched(FAIL, ("replace", "/timeoutSeconds", 1)):
        for replica in installation.replicas.values():
            replica.process.pause()
        try:
            yield
        finally:
            for replica in installation.replicas.values():
                replica.process.resume()


@broken("a rule of the ClusterRole is gone", rights="list on services")
def _lacking_right(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    rules = installation.objects["ClusterRole/evenspread"]["rules"]
    (at,) = (i for i, rule in enumerate(rules) if "services" in rule["resources"])
    return installation.patched(
        "ClusterRole/evenspread", ("replace", f"/rules/{at}/resources", ["nodes"])
    )


@broken(
    "the server audits without the rights",
    rights="list on pods",
)
def _audits_without_rights(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    path = "/spec/template/spec/containers/0/args/-"
    return installation.patched("Deployment/evenspread", ("add", path, "--audit-interval=10m"))


@broken("kube-system is not left out", exemptions="called for namespace kube-system")
def _system(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    return installation.hooks_patched(
        ("replace", "/namespaceSelector/matchExpressions/0/values", [NAMESPACE])
    )


@broken("no namespace is left out", exemptions="no replica can start again once all are down")
def _everywhere(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    return installation.hooks_patched(("replace", "/namespaceSelector", {}))


@broken(
    "a match condition is of the short form",
    match_conditions="!has(object.metadata.annotations) ||",
    reached="failurePolicy Ignore hides why",
)
def _short_form(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    condition = {"name": "no-mirror-pod", "expression": SHORT_FORM}
    return installation.hooks_patched(("add", "/matchConditions", [condition]))


@broken("a rule denies, and pods are not sent", validated_pods="deploy/kustomize/validate-pods")
def _unsent(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    data = installation.objects["ConfigMap/evenspread"]["data"]
    text = f"{data['config.yaml']}\nrules: {{TSC101: deny}}"
    return installation.patched("ConfigMap/evenspread", ("replace", "/data/config.yaml", text))


@broken("the configuration has an error", configuration="evenspread config check --config FILE")
def _misconfigured(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    text = installation.objects["ConfigMap/evenspread"]["data"]["config.yaml"]
    wrong = text.replace("mode: apply", "mode: sometimes")
    return installation.patched("ConfigMap/evenspread", ("replace", "/data/config.yaml", wrong))


@broken(
    "an upgrade has stopped half-way",
    versions="kubectl -n evenspread rollout status deployment evenspread",
)
@contextmanager
def _two_versions(installation: ExaminedInstallation) -> Iterator[None]:
    pod = installation.pods[0]
    label = "app.kubernetes.io/version"
    installation.api.merge(pod, {"metadata": {"labels": {label: "0.0.9"}}})
    yield
    installation.api.merge(pod, {"metadata": {"labels": {label: pod["metadata"]["labels"][label]}}})


def spoiled(pod: Json) -> list[Json]:
    """Make the constraints of a pod others."""
    del pod
    theirs = {"maxSkew": 7, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}
    return [{"op": "add", "path": "/spec/topologySpreadConstraints", "value": [theirs]}]


@broken("another webhook writes the same field", other_writers="keep one of the two writers")
@contextmanager
def _conflicting_webhook(installation: ExaminedInstallation) -> Iterator[None]:
    with other_webhook(spoiled) as made:
        installation.api.create(made)
        webhooks.settle(installation.api)
        yield
        installation.api.delete(made)
        webhooks.settle(installation.api)


@broken("a policy of Kyverno writes the same field", other_writers="docs/migrate.md")
@contextmanager
def _conflicting_policy(installation: ExaminedInstallation) -> Iterator[None]:
    kind = definition("kyverno.io", "ClusterPolicy", "clusterpolicies")
    kind["spec"]["scope"] = "Cluster"
    kind["spec"]["versions"][0]["name"] = "v1"
    define(installation.plane, kind, "v1")
    spread = {"spec": {"+(topologySpreadConstraints)": [{"maxSkew": 1}]}}
    rule = {"name": "spread", "mutate": {"patchStrategicMerge": spread}}
    policy: Json = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "spread"},
        "spec": {"rules": [rule]},
    }
    installation.api.create(policy)
    yield
    installation.api.delete(kind)


@broken(
    "Fail stands before a single replica, without a budget",
    failure_policy="kubectl -n evenspread scale deployment evenspread --replicas=2",
    disruption_budget="apply the manifests again",
)
@contextmanager
def _fragile(installation: ExaminedInstallation) -> Iterator[None]:
    with ExitStack() as changes:
        changes.enter_context(_single(installation))
        changes.enter_context(installation.hooks_patched(FAIL, kinds=("Validating",)))
        changes.enter_context(installation.without("PodDisruptionBudget/evenspread"))
        yield


@contextmanager
def _single(installation: ExaminedInstallation) -> Iterator[None]:
    """One replica is wanted."""
    with installation.patched("Deployment/evenspread", ("replace", "/spec/replicas", 1)):
        installation.available(1)
        yield
    installation.admit()


@broken(
    "users wait half a minute, for the second webhook of a configuration",
    timeouts='"path":"/webhooks/1/timeoutSeconds","value":3',
)
@contextmanager
def _second(installation: ExaminedInstallation) -> Iterator[None]:
    name = "ValidatingWebhookConfiguration/evenspread"
    other: Json = {
        "name": "other.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [],
    }
    with (
        installation.hooks_patched(("replace", "/timeoutSeconds", 30), kinds=("Validating",)),
        installation.patched(name, ("add", "/webhooks/0", other)),
    ):
        yield


@broken(
    "users wait half a minute", timeouts="kubectl patch mutatingwebhookconfiguration evenspread"
)
def _slow(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    return installation.hooks_patched(("replace", "/timeoutSeconds", 30))


@broken("Deployments are not judged", rules="is not called for CREATE daemonsets")
def _unjudged(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    rules = installation.objects[names("Mutating")[0]]["webhooks"][0]["rules"]
    kept = [rule for rule in rules if "deployments" not in rule["resources"]]
    return installation.hooks_patched(("replace", "/rules", kept))


@broken("everything is judged", rules="evenspread does not review")
def _overjudged(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
    return installation.hooks_patched(("add", "/rules/-", {**every, "scope": "*"}))


@broken("another version of a kind gets past", fixed_members="matchPolicy: Exact, not Equivalent")
def _exact(installation: ExaminedInstallation) -> AbstractContextManager[None]:
    return installation.hooks_patched(("replace", "/matchPolicy", "Exact"))


@broken(
    "the certificate of a mounted Secret has expired, under Fail",
    certificates="have its issuer renew it",
    reached="the served certificate has expired",
)
@contextmanager
def _expired(installation: ExaminedInstallation) -> Iterator[None]:
    ended, lifetime = real_clock() - timedelta(minutes=10), timedelta(minutes=10)
    signer, host = authority(ended - lifetime), f"{NAME}.{NAMESPACE}.svc"
    pair = leaf(signer, host, now=ended - lifetime, lifetime=lifetime)
    bundle = base64.b64encode(signer.certificate_pem()).decode()
    with (
        installation.mounted(pair, ahead_s=-15 * 60),
        installation.hooks_patched(("replace", "/clientConfig/caBundle", bundle), FAIL),
    ):
        yield
