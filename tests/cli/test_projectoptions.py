from pathlib import Path

import click
import pytest
import yaml

from tests.apiserver import ApiServer
from tests.cli import files
from tests.cli.conftest import Run
from webhook.cli.projectoptions import list_defaults, project_options, report_unused
from webhook.config.project import PROJECT_FILE, Exemption, Project

PROJECT = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadProject
paths: [manifests]
"""

PLAIN = files.DEPLOYMENT_WITHOUT_CONSTRAINTS.replace("spec:\n  sel", "spec:\n  replicas: 2\n  sel")


@pytest.fixture
def repository(folder: Path) -> Path:
    """A repository with a project file, one Deployment, and a broken one in an excluded folder."""
    (folder / ".git").mkdir()
    (folder / "manifests/vendor").mkdir(parents=True)
    (folder / "manifests/web.yaml").write_text(PLAIN)
    (folder / "manifests/vendor/broken.yaml").write_text(files.DEPLOYMENT)
    (folder / PROJECT_FILE).write_text(PROJECT)
    return folder


def add(repository: Path, text: str) -> None:
    with (repository / PROJECT_FILE).open("a") as file:
        file.write(text)


COMMANDS = ["validate", "audit", "fix", "review"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("repository")
def test_commands_read_the_paths_of_the_project(command: str, run: Run) -> None:
    ran = run(command)

    assert (ran.code, "TSC001" in ran.out + ran.err) == (0, False)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("repository")
def test_flags_override_the_project(command: str, run: Run) -> None:
    ran = run(command, "-f", "manifests/vendor", *(["--diff"] if command == "fix" else []))

    assert (ran.code, "TSC001" in ran.out + ran.err) == (1, True)


def test_a_project_is_found_from_a_folder_below(
    repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "manifests")

    assert "Deployment shop/web  web.yaml:1" in run("audit").out


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("repository")
def test_the_project_can_be_ignored(command: str, run: Run) -> None:
    ran = run(command, "--no-project", "-f", "manifests")

    assert "TSC001" in ran.out + ran.err


def test_another_project_can_be_named(
    repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "other.yaml").write_text(PROJECT.replace("manifests", "manifests/vendor"))

    assert run("validate", "--project", "other.yaml").code == 1
    monkeypatch.setenv("EVENSPREAD_PROJECT", "other.yaml")
    assert run("validate").code == 1


@pytest.mark.parametrize("name", [".", "manifests", "manifests/vendor"])
def test_a_folder_stands_for_the_project_file_in_or_above_it(
    name: str, repository: Path, run: Run
) -> None:
    (repository / "other.yaml").write_text(files.DEPLOYMENT)

    assert run("validate", "--project", name) == run("validate")


def test_a_folder_without_a_project_file_is_a_project_by_default(
    repository: Path, run: Run
) -> None:
    (repository / PROJECT_FILE).unlink()

    assert "1 object with a pod template" in run("validate", "--project", ".").out
    assert run("validate", "--project", "manifests/vendor").code == 1
    assert run("validate", "--project", ".", "-f", "manifests").code == 0
    assert run("validate", "--project", ".", "--exclude", "web.yaml").code == 1
    assert run("validate", "--project", "none").code == 2


BOTH = ["--project", PROJECT_FILE], ["--no-project"]


@pytest.mark.parametrize("flags", [[*BOTH[0], *BOTH[1]], [*BOTH[1], *BOTH[0]]], ids=str)
@pytest.mark.usefixtures("repository")
def test_both_options_are_an_error(flags: list[str], run: Run) -> None:
    ran = run("audit", *flags)

    assert (ran.code, ran.err) == (
        2,
        "error: --project: cannot be given together with --no-project\n",
    )


def test_errors_in_the_project_name_their_line(repository: Path, run: Run) -> None:
    add(repository, "exlude: [x]\n")

    ran = run("audit")

    assert (ran.code, ran.err) == (
        2,
        f"error: {PROJECT_FILE}:4: exlude: no such key: did you mean exclude?\n",
    )
    assert run("audit", "--help").code == 0


def test_actions_of_rules_apply_to_an_audit(repository: Path, run: Run) -> None:
    assert "TSC110" in run("audit").out
    add(repository, "rules: {TSC110: off}\n")

    assert "TSC110" not in run("audit").out
    assert "TSC110" in run("audit", "--no-project", "-f", "manifests/web.yaml").out


def test_actions_of_rules_do_not_apply_to_a_review(repository: Path, run: Run) -> None:
    before = run("review").out
    add(repository, "rules: {TSC1*: deny}\n")

    assert run("review").out == before


EXEMPTIONS = """\
exemptions:
- {rules: [TSC110], names: [web], reason: it may be down}
- {rules: [TSC101], names: [api], reason: never used}
"""


def test_exempted_findings_are_listed_apart(repository: Path, run: Run) -> None:
    add(repository, EXEMPTIONS)

    ran = run("audit", "--fail-on", "audit")

    assert ran.code == 0
    assert "exempt TSC110" in ran.out
    assert "(exempted: it may be down)" in ran.out
    assert ran.err == (
        f"warning: {PROJECT_FILE}:6: exemptions[1]: exempts from no finding: remove it\n"
    )


def test_a_partial_audit_reports_no_unused_exemptions(repository: Path, run: Run) -> None:
    add(repository, EXEMPTIONS)

    assert run("audit", "--rules", "TSC110").err == ""
    assert run("audit", "-n", "shop").err == ""
    assert run("audit", "-f", "manifests/web.yaml").err == ""


def test_fix_leaves_exempted_findings_alone(repository: Path, run: Run) -> None:
    args = ("fix", "--level", "audit", "--diff", "-f", "manifests/web.yaml")
    assert "TSC110" in run(*args).err
    add(repository, EXEMPTIONS)

    assert "TSC110" not in run(*args).err


def test_an_exemption_must_be_allowed(repository: Path, run: Run) -> None:
    (repository / "config.yaml").write_text(files.CONFIG + "rules: {TSC110: {exemptible: false}}\n")
    add(repository, f"config: config.yaml\n{EXEMPTIONS}")

    ran = run("audit")

    problem = "TSC110 cannot be exempted from: the configuration forbids it"
    assert (ran.code, ran.err) == (2, f"error: {PROJECT_FILE}:6: exemptions[0]: {problem}\n")


def test_validate_checks_all_versions_and_others_the_newest(repository: Path, run: Run) -> None:
    add(repository, "kubeVersion: '1.30..1.32'\n")

    assert "by the rules of Kubernetes 1.30..1.32" in run("validate").out
    assert '"kubernetes": "1.32"' in run("audit", "-o", "json").out
    assert '"kubernetes": "1.29"' in run("audit", "-o", "json", "--kube-version", "1.29").out


def test_a_flag_replaces_the_configuration_of_the_other_kind(repository: Path, run: Run) -> None:
    (repository / "config.yaml").write_text(files.CONFIG)
    (repository / "scheduler.yaml").write_text(files.SCHEDULER)
    add(repository, "config: config.yaml\n")

    ran = run("review", "--scheduler-config", "scheduler.yaml")

    assert ran.code == 0
    assert "by profile default-scheduler" in ran.out
    assert "by profile cluster" in run("review").out


def test_a_configuration_of_the_project_names_no_file_outside(
    repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "scheduler.yaml").write_text(files.SCHEDULER)
    folder = repository / "manifests"
    (folder / "config.yaml").write_text(
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
        "profiles:\n- {name: a, schedulerConfiguration: ../scheduler.yaml}\n"
    )
    (folder / PROJECT_FILE).write_text(PROJECT.replace("manifests", ".") + "config: config.yaml\n")
    monkeypatch.chdir(folder)

    ran = run("review")

    assert ran.code == 2
    assert "leads out of the folder of the project file" in ran.err
    assert run("review", "--no-project", "-f", ".", "--config", "config.yaml").code != 2


def test_links_out_of_the_project_are_neither_read_nor_written(repository: Path, run: Run) -> None:
    outside = repository.parent / "outside.yaml"
    outside.write_text(files.DEPLOYMENT)
    (repository / "manifests/link.yaml").symlink_to(outside)

    assert run("fix", "--level", "audit").code in (0, 1)
    assert outside.read_text() == files.DEPLOYMENT
    assert "TSC001" not in run("validate").out


def test_explain_reads_the_project(repository: Path, run: Run) -> None:
    (repository / "nodes.yaml").write_text(files.NODE.partition("---\n")[0])
    add(repository, "facts: [nodes.yaml]\n")

    ran = run("explain")

    assert ran == run("explain", "deploy/web", "-n", "shop")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("the next pod of Deployment shop/web can be placed on 1 of 1 node\n")
    assert "Deployment default/web" in run("explain", "-f", "manifests/vendor/broken.yaml").out
    assert "nothing to explain" in run("explain", "--no-project").err


def test_a_live_cluster_replaces_the_objects_of_the_project(
    repository: Path, run: Run, api: ApiServer
) -> None:
    (repository / "nodes.yaml").write_text(files.NODE.partition("---\n")[0])
    add(repository, "facts: [nodes.yaml]\n")
    (deployment,) = yaml.safe_load_all(PLAIN)
    api.add(deployment)

    ran = run("explain", "deploy/web", "-n", "shop", "--kubeconfig", "kubeconfig")

    assert ran.out.startswith("the next pod of Deployment shop/web cannot be placed: there is no")
    assert "nothing to explain" in run("explain", "--kubeconfig", "kubeconfig").err


def test_a_name_that_the_project_lacks_may_be_in_the_cluster(repository: Path, run: Run) -> None:
    ran = run("explain", "deploy/api")

    assert ran.err == (
        "error: manifests: contains no deploy/api with a pod template: write deploy/web, or name "
        "its file with -f, or read the cluster with --live\n"
    )


def test_config_check_reads_the_configuration_of_the_project(repository: Path, run: Run) -> None:
    """Its files are manifests to check, and none of them is the pod of an example."""
    (repository / "config.yaml").write_text(files.CONFIG)
    (repository / "nodes.yaml").write_text(files.NODE.partition("---\n")[0])
    add(repository, "config: config.yaml\nkubeVersion: '1.30..1.32'\nfacts: [nodes.yaml]\n")

    (found,) = run("config", "check", "-o", "json").documents
    (ignored,) = run("config", "check", "-o", "json", "--no-project").documents

    assert (found["files"], found["kubernetes"]) == (["config.yaml"], "1.32")
    assert found["example"]["pod"] == "a pod labelled app=example, behind a Service"
    assert (ignored["files"], ignored["kubernetes"]) == ([], "1.37")


SUITE = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadTest
cases: [{name: a, object: web.yaml, expect: {verdict: allow}}]
"""


def test_suites_below_the_project_run(repository: Path, run: Run) -> None:
    (repository / "manifests/suite.yaml").write_text(SUITE)
    (repository / "manifests/vendor/suite.yaml").write_text(SUITE.replace("web", "broken"))

    assert run("test").out.endswith("1 case in 1 suite: 1 passed, 0 failed\n")
    assert run("test", "--no-project").code == 2
    assert run("test", "manifests/vendor").code == 1


def test_a_range_becomes_a_version() -> None:
    project = Project(file="p", kube_version="1.30..1.32", paths=("a",))

    assert list_defaults(project, versions=True)["kube_version"] == "1.30..1.32"
    assert list_defaults(project, versions=False) == {"filename": ("a",), "kube_version": "1.32"}


def test_unused_exemptions_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    report_unused([Exemption(where="p.yaml:3", rules=frozenset(), reason="r")])

    assert capsys.readouterr().err == "warning: p.yaml:3: exempts from no finding: remove it\n"


EXCLUDING = ["--exclude", "vendor", "--exclude", "other"]

ORDERS = {
    "without a project": ["--no-project", *EXCLUDING],
    "before": [*EXCLUDING, "--project", PROJECT_FILE],
    "after": ["--project", PROJECT_FILE, *EXCLUDING],
}


@pytest.mark.parametrize("flags", ORDERS.values(), ids=ORDERS.keys())
def test_a_flag_excludes_instead_of_the_project(
    flags: list[str], repository: Path, run: Run
) -> None:
    add(repository, "exclude: [web.yaml]\n")

    ran = run("validate", *flags, "-f", "manifests")

    assert (ran.code, ran.out.count("1 object with a pod template")) == (0, 1)
    assert run("validate").code == 1


def test_the_folder_of_the_project_is_read_by_default(repository: Path, run: Run) -> None:
    (repository / PROJECT_FILE).write_text(PROJECT.replace("paths: [manifests]\n", ""))

    assert "1 object with a pod template" in run("validate").out


def test_without_a_project_file_nothing_changes(folder: Path, run: Run) -> None:
    (folder / "web.yaml").write_text(PLAIN)

    assert run("validate", "-f", "web.yaml").code == 0
    assert run("validate").code == 2


def test_completion_reads_no_project(folder: Path) -> None:
    (folder / PROJECT_FILE).write_text("broken")
    command = click.Command("test", params=list(project_options("Effect.")))

    context = command.make_context("test", [], resilient_parsing=True)

    assert context.params["project"] is None
