"""`evenspread doctor` for installations on a real control plane: a healthy one, and broken ones."""

import base64
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.certs.world import authority
from tests.controlplane.api import Reply
from tests.controlplane.assets import Assets
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.deploy.manifests import NAMESPACE
from tests.e2e.breakages import BROKEN, one_replica_down, patching
from tests.e2e.examined import KINDS, ExaminedInstallation, Report
from webhook.__main__ import main
from webhook.doctor.probes import build_probe
from webhook.doctor.table import CHECKS


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets) -> Iterator[ControlPlane]:
    with ControlPlane(control_plane_assets, Options(scheduler=False)) as started:
        yield started


@pytest.fixture(scope="module")
def installation(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ExaminedInstallation]:
    with ExaminedInstallation(plane, tmp_path_factory.mktemp("installation")) as installed:
        yield installed


def examined(installation: ExaminedInstallation, problems: Collection[str], *flags: str) -> Report:
    """The report, as soon as it has these problems: a replica that stands still is another one."""
    reports: list[Report] = []

    def is_expected() -> bool:
        reports.append(installation.examine(*flags))
        return set(reports[-1].problems) == set(problems)

    with suppress(TimeoutError):
        until(is_expected, "a report")
    return reports[-1]


def test_a_healthy_installation_has_nothing(installation: ExaminedInstallation) -> None:
    report = examined(installation, (), *installation.health)

    assert (report.code, report.problems, report.unseen) == (0, {}, {})
    assert {check["state"] for check in report.checks.values()} == {"ok"}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_installation_is_reported_with_what_to_do(
    installation: ExaminedInstallation, case: str
) -> None:
    break_it, expected = BROKEN[case]

    with break_it(installation):
        report = examined(installation, expected)

    assert report.problems.keys() == expected.keys(), report
    for name, words in expected.items():
        assert words in report.problems[name]
    assert report.code == 1


def recovered(installation: ExaminedInstallation) -> Report:
    """A report without problems, once replicas have found that what was broken is whole again."""

    return examined(installation, (), *installation.health)


def test_it_is_healthy_again_after_all_that(installation: ExaminedInstallation) -> None:
    assert recovered(installation).code == 0


def test_what_may_not_be_read_is_reported_and_is_no_problem(
    installation: ExaminedInstallation,
) -> None:
    namespace = installation.plane.create_namespace()
    powerless = installation.plane.kubeconfig_of(namespace, "default")

    report = installation.examine("-n", NAMESPACE, kubeconfig=powerless)

    assert (report.code, report.problems) == (0, {})
    assert report.checks.keys() - report.unseen.keys() == {"kubernetes"}
    assert report.unseen["certificates"] == f"needs get on secrets in namespace {NAMESPACE}"
    assert report.unseen["reached"].startswith("needs get on mutatingwebhookconfigurations.")
    assert report.unseen["rights"].endswith("subjectaccessreviews.authorization.k8s.io")


def test_an_api_server_passes_the_same_answer_on_once_and_nothing_is_done_to_a_probe(
    installation: ExaminedInstallation,
) -> None:
    tried = build_probe("true")
    _, left = installation.replicas

    def answered() -> Reply | None:
        """The first calls may still use connections to the replica that is down."""
        path = installation.api.collection_of(tried)
        reply = installation.api.request("POST", path, tried, query={"dryRun": "All"})
        return reply if reply.warnings == (f"evenspread 0.1.0 {left} answered",) else None

    with one_replica_down(installation):
        reply = until(answered, "the replica that is left to answer both calls")

    assert "topologySpreadConstraints" not in reply.body["template"]["spec"]
    assert "annotations" not in reply.body["metadata"]


def test_the_certificate_of_a_listener_is_read(installation: ExaminedInstallation) -> None:
    foreign = base64.b64encode(authority().certificate_pem()).decode()
    with (
        installation.patched(
            "ClusterRole/evenspread", ("replace", patching(installation), ["get"])
        ),
        installation.hooks_patched(("replace", "/clientConfig/caBundle", foreign)),
    ):
        report = installation.examine(
            "--address", f"127.0.0.1:{installation.service.endpoints[0].port}"
        )

    assert "ca-bundle" in report.problems


def test_it_is_reported_in_words(
    installation: ExaminedInstallation, capsys: pytest.CaptureFixture[str]
) -> None:
    recovered(installation)
    with installation.hooks_patched(("replace", "/timeoutSeconds", 30), kinds=("Validating",)):
        code = main(
            [
                "doctor",
                "--kubeconfig",
                str(installation.plane.apiserver.kubeconfig),
                *installation.health,
            ]
        )

    lines = capsys.readouterr().out.splitlines()
    at = lines.index("problem  timeouts           no write waits long for a webhook")
    assert code == 1
    assert lines[at + 1].startswith("         validate.evenspread.io has timeoutSeconds: 30")
    assert lines[at + 2].startswith("         -> set it to 3: kubectl patch validatingwebhookconf")
    assert lines[-1] == f"{len(CHECKS)} checks: 1 problem, {len(CHECKS) - 1} ok", "\n".join(lines)


def test_an_unreachable_server_has_another_exit_code(
    installation: ExaminedInstallation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = installation.plane.apiserver.kubeconfig.read_text()
    (tmp_path / "kubeconfig").write_text(
        there.replace(f":{installation.plane.apiserver.port}", ":1")
    )

    code = main(["doctor", "--kubeconfig", str(tmp_path / "kubeconfig")])

    assert code == 3
    assert "cannot be reached" in capsys.readouterr().err


def test_it_waits_for_a_replica_and_sets_the_policy_then(
    installation: ExaminedInstallation, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = str(installation.plane.apiserver.kubeconfig)
    flags = ["doctor", "--kubeconfig", kubeconfig, "--set-failure-policy", "validating=Fail"]
    ignoring = ("replace", "/failurePolicy", "Ignore")
    with installation.hooks_patched(ignoring):  # which puts back what is set here
        with installation.all_down():
            early = main([*flags, "--wait", "1s"])
            errors = capsys.readouterr().err
            kept = installation.hook("Validating")["failurePolicy"]
        first = main([*flags, "--wait"])
        output = capsys.readouterr().out
        again = main([*flags, "--wait", "60s"])
        policies = [installation.hook(kind)["failurePolicy"] for kind in KINDS]

    assert (early, first, again) == (3, 0, 0)
    assert "no replica answered within 1 s for mutate.evenspread.io" in errors
    assert kept == "Ignore"
    assert output.endswith("validate.evenspread.io: failurePolicy is Fail now\n")
    assert policies == ["Ignore", "Fail"]
    assert "failurePolicy" not in capsys.readouterr().out
