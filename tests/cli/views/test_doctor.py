import pytest

from tests.doctor.installations import build_installation, replica
from webhook.cli.terminal import Terminal
from webhook.cli.views.doctor import as_document, show
from webhook.doctor.findings import CheckResult, CheckState
from webhook.doctor.installation import Installation, Lookup, Replica
from webhook.doctor.table import run_checks

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
        "says": problem.findings[0].message,
        "advice": problem.findings[0].advice,
    }
