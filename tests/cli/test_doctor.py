"""``evenspread doctor``: the checks of an installation, and the wait for one."""

from collections.abc import Iterator

import pytest

from certs.serving import LiveContext
from tests.apiserver import ApiServer, Json, respond
from tests.certs.world import authority, leaf, listening
from tests.cli.conftest import Run, in_background
from tests.doctor.installations import METRICS, READY, build_installation, replica
from webhook.cli.doctor import as_document, show
from webhook.cli.terminal import Terminal
from webhook.cluster.protocol import Response
from webhook.doctor.dryrun import DEFAULT_PROBE_NAMESPACE
from webhook.doctor.findings import CheckResult, CheckState
from webhook.doctor.installation import Installation, Lookup, Replica
from webhook.doctor.table import run_checks

CA = authority()
CLUSTER = ("--kubeconfig", "kubeconfig")
WAIT = ("doctor", *CLUSTER, "--wait")
ANSWER = respond({}, 201, "evenspread 0.1.0 evenspread-1 answered")
CONFIGURATION: Json = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "evenspread"},
    "webhooks": [{"name": "validate.evenspread.io", "clientConfig": {}, "failurePolicy": "Ignore"}],
}


def probes(namespace: str) -> str:
    return f"POST /api/v1/namespaces/{namespace}/podtemplates"


@pytest.fixture
def address() -> Iterator[str]:
    """Address of a listener with a leaf of CA."""
    live = LiveContext()
    live.swap(leaf(CA), CA.chain)
    with in_background(listening(live)) as port:
        yield f"127.0.0.1:{port}"


def test_a_cluster_without_an_installation_has_problems(run: Run, api: ApiServer) -> None:
    api.version = "v1.37.0"

    ran = run("doctor", *CLUSTER)

    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("evenspread in evenspread/evenspread, on Kubernetes v1.37.0\n")
    assert "\nproblem  registered " in ran.out


def test_a_replica_and_its_certificate_are_read_directly(
    run: Run, api: ApiServer, address: str
) -> None:
    api.answers |= {
        "GET /readyz": Response(200, READY.encode()),
        "GET /metrics": Response(200, METRICS.encode()),
    }
    health = f"127.0.0.1:{api.port}"

    ran = run("doctor", *CLUSTER, "--health", health, "--address", address, "-o", "json")

    (document,) = ran.documents
    states = {check["id"]: check["state"] for check in document["checks"]}
    assert states["registered"] == "problem"
    assert {"/readyz", "/metrics"} <= set(api.paths)


@pytest.mark.usefixtures("api")
def test_a_replica_that_does_not_answer_is_an_error(run: Run) -> None:
    ran = run("doctor", *CLUSTER, "--health", "127.0.0.1:1")

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: http://127.0.0.1:1/readyz?verbose: cannot be read: ")


def test_the_wait_ends_when_a_replica_answers(run: Run, api: ApiServer) -> None:
    api.answers[probes(DEFAULT_PROBE_NAMESPACE)] = ANSWER

    assert run(*WAIT) == (0, "evenspread 0.1.0 evenspread-1 answered\n", "")


def test_after_the_wait_policies_are_set(run: Run, api: ApiServer) -> None:
    api.answers[probes("shop")] = ANSWER
    api.add(CONFIGURATION)

    ran = run(*WAIT, "5m", "--probe-namespace", "shop", "--set-failure-policy", "validating=Fail")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("validate.evenspread.io: failurePolicy is Fail now\n")


ERRORS = {
    "policies without a wait": (
        ("--set-failure-policy", "validating=Fail"),
        "error: --set-failure-policy: requires --wait",
    ),
    "an unknown webhook": (
        ("--wait", "--set-failure-policy", "other=Fail"),
        "error: --set-failure-policy: 'other=Fail' is not a policy",
    ),
    "an unknown policy": (
        ("--wait", "--set-failure-policy", "validating=Maybe"),
        "error: --set-failure-policy: 'validating=Maybe' is not a policy",
    ),
    "no duration": (("--wait", "soon"), "error: --wait: 'soon' is not a duration"),
}


@pytest.mark.parametrize(("arguments", "message"), ERRORS.values(), ids=ERRORS.keys())
@pytest.mark.usefixtures("api")
def test_usage_errors(arguments: tuple[str, ...], message: str, run: Run) -> None:
    ran = run("doctor", *CLUSTER, *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(message)


UNREADY = replica("[-]certificate failed: old\n")
HIDDEN = Replica("evenspread-2", Lookup(problem="needs get on pods/proxy"), Lookup(""))
SICK = build_installation(replicas=(UNREADY, HIDDEN))


def text_of(installation: Installation, capsys: pytest.CaptureFixture[str]) -> list[str]:
    show(installation, run_checks(installation), Terminal())
    return capsys.readouterr().out.splitlines()


def find_problem(results: list[CheckResult]) -> CheckResult:
    return next(result for result in results if result.state is CheckState.PROBLEM)


def test_a_healthy_installation_has_a_line_for_each_check(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = run_checks(build_installation())

    lines = text_of(build_installation(), capsys)

    assert lines[0] == "evenspread in evenspread/evenspread, on Kubernetes v1.36.3"
    assert [line.split()[:2] for line in lines[1:-1]] == [["ok", row.id] for row in results]
    assert lines[-1] == f"{len(results)} checks: {len(results)} ok"


def test_findings_advice_and_hidden_facts_follow_their_check(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = list(run_checks(SICK))
    problem = find_problem(results)
    hidden = next(result for result in results if result.unreadable)

    lines = text_of(SICK, capsys)

    below = lines[lines.index(f"problem  {problem.id:<19}{problem.title}") + 1 :]
    assert below[:2] == [
        f"         {problem.findings[0].message}",
        f"         -> {problem.findings[0].advice}",
    ]
    assert f"         not checked: {hidden.unreadable[0]}" in lines
    assert lines[-1].startswith(f"{len(results)} checks: 1 problem, ")


def test_the_document_has_every_check() -> None:
    results = list(run_checks(SICK))
    problem = find_problem(results)

    document = as_document(SICK, results)

    assert (document["name"], document["namespace"]) == ("evenspread", "evenspread")
    assert [check["id"] for check in document["checks"]] == [result.id for result in results]
    (check,) = [check for check in document["checks"] if check["id"] == problem.id]
    assert check["state"] == "problem"
    assert check["findings"][0] == {
        "severity": "problem",
        "message": problem.findings[0].message,
        "advice": problem.findings[0].advice,
    }
