"""Doctors at installations on a real control plane: a healthy one, and broken ones."""

import base64
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.certs.world import authority, leaf, real_clock
from tests.controlplane import webhooks
from tests.controlplane.api import Json, Reply
from tests.controlplane.assets import Assets
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.deploy.manifests import NAMESPACE
from tests.e2e.customkinds import define, definition
from tests.e2e.rival import rival
from tests.e2e.ward import KINDS, NAME, Report, Ward
from webhook.__main__ import main
from webhook.doctor.probes import build_probe
from webhook.doctor.table import CHECKS

FAIL = ("replace", "/failurePolicy", "Fail")
SHORT_FORM = "!('kubernetes.io/config.mirror' in object.metadata.annotations)"


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets) -> Iterator[ControlPlane]:
    with ControlPlane(control_plane_assets, Options(scheduler=False)) as started:
        yield started


@pytest.fixture(scope="module")
def ward(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    with Ward(plane, tmp_path_factory.mktemp("ward")) as installed:
        yield installed


def test_a_healthy_installation_has_nothing(ward: Ward) -> None:
    report = ward.examine(*ward.health)

    assert (report.code, report.problems, report.unseen) == (0, {}, {})
    assert {check["state"] for check in report.checks.values()} == {"ok"}


Break = Callable[[Ward], AbstractContextManager[None]]

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
def _unregistered(ward: Ward) -> AbstractContextManager[None]:
    return ward.without(*names(*KINDS))


@broken(
    "only the validating webhook is registered",
    registered="MutatingWebhookConfiguration evenspread does not exist",
)
def _half_registered(ward: Ward) -> AbstractContextManager[None]:
    return ward.without(*names("Mutating"))


@broken(
    "the caBundle is of another authority, and no replica may fix it",
    ca_bundle="no other client may write it",
    rights="patch on mutatingwebhookconfigurations.admissionregistration.k8s.io evenspread",
    reached="compare both: evenspread certs -n evenspread --name evenspread",
)
@contextmanager
def _foreign_bundle(ward: Ward) -> Iterator[None]:
    foreign = base64.b64encode(authority().certificate_pem()).decode()
    with (
        ward.patched("ClusterRole/evenspread", ("replace", patching(ward), ["get"])),
        ward.hooks_patched(("replace", "/clientConfig/caBundle", foreign), FAIL),
    ):
        yield


def patching(ward: Ward) -> str:
    """The path to the verbs by which the server writes its caBundle."""
    rules = ward.objects["ClusterRole/evenspread"]["rules"]
    (at,) = (i for i, rule in enumerate(rules) if "patch" in rule["verbs"])
    return f"/rules/{at}/verbs"


@broken(
    "the caBundle is emptied, and no replica runs to write it",
    ca_bundle="see why none does: kubectl -n evenspread logs deployment/evenspread",
    reached="fix the other findings first",
)
@contextmanager
def _emptied_bundle(ward: Ward) -> Iterator[None]:
    with ward.all_down(), ward.hooks_patched(("replace", "/clientConfig/caBundle", "")):
        yield


@broken(
    "the Service has no ready endpoint",
    endpoints="kubectl -n evenspread get pods,endpointslices",
)
def _no_endpoint(ward: Ward) -> AbstractContextManager[None]:
    return ward.patched(
        "EndpointSlice/evenspread", ("replace", "/endpoints/0/conditions/ready", False)
    )


@broken(
    "the Service is gone",
    service="apply the manifests again",
    reached="the Service does not exist",
)
@contextmanager
def _no_service(ward: Ward) -> Iterator[None]:
    # An API server goes on calling on the connections that it has; so they are closed.
    gone = ward.without("Service/evenspread")
    with ward.hooks_patched(FAIL, kinds=("Validating",)), gone, ward.all_down():
        yield


@broken(
    "the webhooks call another port",
    service="calls port 20 of the Service",
    reached="compare targetPort of the Service with --port of the container",
)
def _wrong_port(ward: Ward) -> AbstractContextManager[None]:
    return ward.hooks_patched(("replace", "/clientConfig/service/port", 20), FAIL)


@broken(
    "a webhook calls another path",
    called_service="evenspread/evenspread/validat,",
    reached="no replica answered for validate.evenspread.io",
)
def _wrong_path(ward: Ward) -> AbstractContextManager[None]:
    return ward.hooks_patched(
        ("replace", "/clientConfig/service/path", "/validat"), kinds=("Validating",)
    )


@broken("a replica is down", replicas="kubectl -n evenspread describe pods")
@contextmanager
def _one_down(ward: Ward) -> Iterator[None]:
    replica, pod = next(iter(ward.replicas.values())), ward.pods[0]  # which one, does not matter
    gone = [{"type": "Ready", "status": "False", "message": "containers with unready status"}]
    replica.process.kill()
    ward.service.remove(replica.port)
    ward.api.merge(pod, {"status": {"conditions": gone}}, subresource="/status")
    ward.available(1)
    yield
    replica.process.start()
    ward.service.add(replica.wait().port)
    ward.admit()


@broken("no replica answers", reached="`failed calling webhook`")
def _hidden(ward: Ward) -> AbstractContextManager[None]:
    return ward.all_down()


@broken("no replica answers, under Fail", reached="see whether the replicas restart")
@contextmanager
def _cut(ward: Ward) -> Iterator[None]:
    with ward.all_down(), ward.hooks_patched(FAIL, kinds=("Validating",)):
        yield


@broken(
    "the replicas hang, under Fail",
    reached="let the API servers reach the admission port of the pods",
)
@contextmanager
def _hanging(ward: Ward) -> Iterator[None]:
    with ward.hooks_patched(FAIL, ("replace", "/timeoutSeconds", 1)):
        for replica in ward.replicas.values():
            replica.process.pause()
        try:
            yield
        finally:
            for replica in ward.replicas.values():
                replica.process.resume()


@broken("a rule of the ClusterRole is gone", rights="list on services")
def _lacking_right(ward: Ward) -> AbstractContextManager[None]:
    rules = ward.objects["ClusterRole/evenspread"]["rules"]
    (at,) = (i for i, rule in enumerate(rules) if "services" in rule["resources"])
    return ward.patched("ClusterRole/evenspread", ("replace", f"/rules/{at}/resources", ["nodes"]))


@broken(
    "the server audits without the rights",
    rights="get on leases.coordination.k8s.io evenspread-audit, "
    "update on leases.coordination.k8s.io evenspread-audit, list on pods",
)
def _audits_without_rights(ward: Ward) -> AbstractContextManager[None]:
    path = "/spec/template/spec/containers/0/args/-"
    return ward.patched("Deployment/evenspread", ("add", path, "--audit-interval=10m"))


@broken("kube-system is not left out", exemptions="called for namespace kube-system")
def _system(ward: Ward) -> AbstractContextManager[None]:
    return ward.hooks_patched(
        ("replace", "/namespaceSelector/matchExpressions/0/values", [NAMESPACE])
    )


@broken("no namespace is left out", exemptions="no replica can start again once all are down")
def _everywhere(ward: Ward) -> AbstractContextManager[None]:
    return ward.hooks_patched(("replace", "/namespaceSelector", {}))


@broken(
    "a match condition is of the short form",
    match_conditions="!has(object.metadata.annotations) ||",
    reached="failurePolicy Ignore hides why",
)
def _short_form(ward: Ward) -> AbstractContextManager[None]:
    condition = {"name": "no-mirror-pod", "expression": SHORT_FORM}
    return ward.hooks_patched(("add", "/matchConditions", [condition]))


@broken("a rule denies, and pods are not sent", validated_pods="deploy/kustomize/validate-pods")
def _unsent(ward: Ward) -> AbstractContextManager[None]:
    text = f"{ward.objects['ConfigMap/evenspread']['data']['config.yaml']}\nrules: {{TSC101: deny}}"
    return ward.patched("ConfigMap/evenspread", ("replace", "/data/config.yaml", text))


@broken("the configuration has a mistake", configuration="evenspread config check --config FILE")
def _misconfigured(ward: Ward) -> AbstractContextManager[None]:
    text = ward.objects["ConfigMap/evenspread"]["data"]["config.yaml"]
    wrong = text.replace("mode: apply", "mode: sometimes")
    return ward.patched("ConfigMap/evenspread", ("replace", "/data/config.yaml", wrong))


@broken(
    "an upgrade has stopped half-way",
    versions="kubectl -n evenspread rollout status deployment evenspread",
)
@contextmanager
def _two_versions(ward: Ward) -> Iterator[None]:
    pod = ward.pods[0]
    label = "app.kubernetes.io/version"
    ward.api.merge(pod, {"metadata": {"labels": {label: "0.0.9"}}})
    yield
    ward.api.merge(pod, {"metadata": {"labels": {label: pod["metadata"]["labels"][label]}}})


def spoiled(pod: Json) -> list[Json]:
    """Make the constraints of a pod others."""
    del pod
    theirs = {"maxSkew": 7, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}
    return [{"op": "add", "path": "/spec/topologySpreadConstraints", "value": [theirs]}]


@broken("another webhook writes the same field", other_writers="keep one of the two writers")
@contextmanager
def _fought(ward: Ward) -> Iterator[None]:
    with rival(spoiled) as made:
        ward.api.create(made)
        webhooks.settle(ward.api)
        yield
        ward.api.delete(made)
        webhooks.settle(ward.api)


@broken("a policy of Kyverno writes the same field", other_writers="docs/migrate.md")
@contextmanager
def _rival(ward: Ward) -> Iterator[None]:
    kind = definition("kyverno.io", "ClusterPolicy", "clusterpolicies")
    kind["spec"]["scope"] = "Cluster"
    kind["spec"]["versions"][0]["name"] = "v1"
    define(ward.plane, kind, "v1")
    spread = {"spec": {"+(topologySpreadConstraints)": [{"maxSkew": 1}]}}
    rule = {"name": "spread", "mutate": {"patchStrategicMerge": spread}}
    policy: Json = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "spread"},
        "spec": {"rules": [rule]},
    }
    ward.api.create(policy)
    yield
    ward.api.delete(kind)


@broken(
    "Fail stands before a single replica, without a budget",
    failure_policy="kubectl -n evenspread scale deployment evenspread --replicas=2",
    disruption_budget="apply the manifests again",
)
@contextmanager
def _fragile(ward: Ward) -> Iterator[None]:
    with ExitStack() as changes:
        changes.enter_context(_single(ward))
        changes.enter_context(ward.hooks_patched(FAIL, kinds=("Validating",)))
        changes.enter_context(ward.without("PodDisruptionBudget/evenspread"))
        yield


@contextmanager
def _single(ward: Ward) -> Iterator[None]:
    """One replica is wanted."""
    with ward.patched("Deployment/evenspread", ("replace", "/spec/replicas", 1)):
        ward.available(1)
        yield
    ward.admit()


@broken(
    "users wait half a minute, for the second webhook of a configuration",
    timeouts='"path":"/webhooks/1/timeoutSeconds","value":3',
)
@contextmanager
def _second(ward: Ward) -> Iterator[None]:
    name = "ValidatingWebhookConfiguration/evenspread"
    other: Json = {
        "name": "other.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [],
    }
    with (
        ward.hooks_patched(("replace", "/timeoutSeconds", 30), kinds=("Validating",)),
        ward.patched(name, ("add", "/webhooks/0", other)),
    ):
        yield


@broken(
    "users wait half a minute", timeouts="kubectl patch mutatingwebhookconfiguration evenspread"
)
def _slow(ward: Ward) -> AbstractContextManager[None]:
    return ward.hooks_patched(("replace", "/timeoutSeconds", 30))


@broken("Deployments are not judged", rules="is not called for CREATE daemonsets")
def _unjudged(ward: Ward) -> AbstractContextManager[None]:
    rules = ward.objects[names("Mutating")[0]]["webhooks"][0]["rules"]
    kept = [rule for rule in rules if "deployments" not in rule["resources"]]
    return ward.hooks_patched(("replace", "/rules", kept))


@broken("everything is judged", rules="evenspread does not review")
def _overjudged(ward: Ward) -> AbstractContextManager[None]:
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
    return ward.hooks_patched(("add", "/rules/-", {**every, "scope": "*"}))


@broken("another version of a kind gets past", fixed_members="matchPolicy: Exact, not Equivalent")
def _exact(ward: Ward) -> AbstractContextManager[None]:
    return ward.hooks_patched(("replace", "/matchPolicy", "Exact"))


@broken(
    "the certificate of a mounted Secret has expired, under Fail",
    certificates="have its issuer renew it",
    reached="the served certificate has expired",
)
@contextmanager
def _expired(ward: Ward) -> Iterator[None]:
    signer = authority()
    pair = leaf(signer, f"{NAME}.{NAMESPACE}.svc", now=real_clock(), lifetime=timedelta(seconds=6))
    bundle = base64.b64encode(signer.certificate_pem()).decode()
    with (
        ward.mounted(pair),
        ward.hooks_patched(("replace", "/clientConfig/caBundle", bundle), FAIL),
    ):
        until(lambda: real_clock() > pair.leaf.not_valid_after_utc, "the certificate to expire")
        yield


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_installation_is_reported_with_what_to_do(ward: Ward, case: str) -> None:
    break_it, expected = BROKEN[case]

    with break_it(ward):
        report = ward.examine()

    assert report.problems.keys() == expected.keys(), report
    for name, words in expected.items():
        assert words in report.problems[name]
    assert report.code == 1


def recovered(ward: Ward) -> Report:
    """A report without problems, once replicas have found that what was broken is whole again."""

    def found() -> Report | None:
        report = ward.examine(*ward.health)
        return None if report.problems else report

    return until(found, "health")


def test_it_is_healthy_again_after_all_that(ward: Ward) -> None:
    assert recovered(ward).code == 0


def test_what_may_not_be_read_is_reported_and_is_no_problem(ward: Ward) -> None:
    namespace = ward.plane.create_namespace()
    powerless = ward.plane.kubeconfig_of(namespace, "default")

    report = ward.examine("-n", NAMESPACE, kubeconfig=powerless)

    assert (report.code, report.problems) == (0, {})
    assert report.checks.keys() - report.unseen.keys() == {"kubernetes"}
    assert report.unseen["certificates"] == f"needs get on secrets in namespace {NAMESPACE}"
    assert report.unseen["reached"].startswith("needs get on mutatingwebhookconfigurations.")
    assert report.unseen["rights"].endswith("subjectaccessreviews.authorization.k8s.io")


def test_an_api_server_passes_the_same_answer_on_once_and_nothing_is_done_to_a_probe(
    ward: Ward,
) -> None:
    tried = build_probe("true")
    _, left = ward.replicas

    def answered() -> Reply | None:
        """The first calls may still meet connections to the replica that is down."""
        path = ward.api.collection_of(tried)
        reply = ward.api.request("POST", path, tried, query={"dryRun": "All"})
        return reply if reply.warnings == (f"evenspread 0.1.0 {left} answered",) else None

    with _one_down(ward):
        reply = until(answered, "the replica that is left to answer both calls")

    assert "topologySpreadConstraints" not in reply.body["template"]["spec"]
    assert "annotations" not in reply.body["metadata"]


def test_the_certificate_of_a_listener_is_read(ward: Ward) -> None:
    foreign = base64.b64encode(authority().certificate_pem()).decode()
    with (
        ward.patched("ClusterRole/evenspread", ("replace", patching(ward), ["get"])),
        ward.hooks_patched(("replace", "/clientConfig/caBundle", foreign)),
    ):
        report = ward.examine("--address", f"127.0.0.1:{ward.service.endpoints[0].port}")

    assert "ca-bundle" in report.problems


def test_it_is_reported_in_words(ward: Ward, capsys: pytest.CaptureFixture[str]) -> None:
    recovered(ward)
    with ward.hooks_patched(("replace", "/timeoutSeconds", 30), kinds=("Validating",)):
        code = main(["doctor", "--kubeconfig", str(ward.plane.apiserver.kubeconfig), *ward.health])

    lines = capsys.readouterr().out.splitlines()
    at = lines.index("problem  timeouts           no write waits long for a webhook")
    assert code == 1
    assert lines[at + 1].startswith("         validate.evenspread.io has timeoutSeconds: 30")
    assert lines[at + 2].startswith("         -> set it to 3: kubectl patch validatingwebhookconf")
    assert lines[-1] == f"{len(CHECKS)} checks: 1 problem, {len(CHECKS) - 1} ok", "\n".join(lines)


def test_an_unreachable_server_has_another_exit_code(
    ward: Ward, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = ward.plane.apiserver.kubeconfig.read_text()
    (tmp_path / "kubeconfig").write_text(there.replace(f":{ward.plane.apiserver.port}", ":1"))

    code = main(["doctor", "--kubeconfig", str(tmp_path / "kubeconfig")])

    assert code == 3
    assert "cannot be reached" in capsys.readouterr().err


def test_it_waits_for_a_replica_and_sets_the_policy_then(
    ward: Ward, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = str(ward.plane.apiserver.kubeconfig)
    flags = ["doctor", "--kubeconfig", kubeconfig, "--set-failure-policy", "validating=Fail"]
    ignoring = ("replace", "/failurePolicy", "Ignore")
    with ward.hooks_patched(ignoring):  # which puts back what is set here
        with ward.all_down():
            early = main([*flags, "--wait", "1s"])
            errors = capsys.readouterr().err
            kept = ward.hook("Validating")["failurePolicy"]
        first = main([*flags, "--wait"])
        output = capsys.readouterr().out
        again = main([*flags, "--wait", "10s"])
        policies = [ward.hook(kind)["failurePolicy"] for kind in KINDS]

    assert (early, first, again) == (3, 0, 0)
    assert "no replica answered within 1 s for mutate.evenspread.io" in errors
    assert kept == "Ignore"
    assert output.endswith("validate.evenspread.io: failurePolicy is Fail now\n")
    assert policies == ["Ignore", "Fail"]
    assert "failurePolicy" not in capsys.readouterr().out
