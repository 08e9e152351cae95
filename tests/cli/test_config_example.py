"""The pod whose defaults are shown."""

from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer
from tests.build import pod, review_body
from tests.cli import files
from tests.cli.conftest import Run


def test_the_example_is_the_first_pod_of_the_files(configured: Path, run: Run) -> None:
    (configured / "pod.yaml").write_text(f"{files.POD}---\n{files.SERVICE}")

    ran = run("config", "check", "--config", "config.yaml", "-f", "pod.yaml")

    assert "defaults of Pod shop/web-1: from profile cluster\n" in ran.out
    assert ran.out.endswith("        app: web\n")


def test_an_example_without_defaults_has_a_reason(configured: Path, run: Run) -> None:
    (configured / "pod.yaml").write_text(files.POD + files.VALID)

    ran = run("config", "check", "--config", "config.yaml", "-f", "pod.yaml")

    assert ran.out.endswith("defaults of Pod shop/web-1: none, since it has its own constraints\n")


def test_a_recorded_review_without_a_pod_is_no_example(configured: Path, run: Run) -> None:
    (configured / "delete.json").write_bytes(review_body(None, pod()))
    (configured / "pod.yaml").write_text(files.POD)

    ran = run("config", "check", "--config", "config.yaml", "-f", "delete.json", "-f", "pod.yaml")

    assert "defaults of Pod shop/web-1: " in ran.out


UNPLACED = files.POD.replace("  namespace: shop\n", "").replace("web-1", "api")


def test_the_example_is_a_pod_of_the_namespace(configured: Path, run: Run) -> None:
    (configured / "pods.yaml").write_text(f"{files.POD}---\n{UNPLACED}")
    check = ("config", "check", "--config", "config.yaml", "-f", "pods.yaml")

    assert "defaults of Pod ops/api: " in run(*check, "-n", "ops").out
    assert "defaults of Pod shop/web-1: " in run(*check, "-n", "shop").out


PROD = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: prod
  match: {namespaceSelector: {matchLabels: {tier: prod}}}
  defaultConstraints:
  - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}
"""
NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {tier: prod}}
"""
EXAMPLE = "defaults of a pod labelled app=example, behind a Service"


def test_without_files_the_example_is_in_the_namespace(folder: Path, run: Run) -> None:
    (folder / "config.yaml").write_text(PROD)
    (folder / "cluster.yaml").write_text(NAMESPACE)
    check = ("config", "check", "--config", "config.yaml", "--facts", "cluster.yaml")

    assert f"{EXAMPLE}: none, since no profile matches it" in run(*check).out
    assert f"{EXAMPLE}, in namespace shop: from profile prod" in run(*check, "-n", "shop").out


def test_labels_of_a_live_namespace_count(folder: Path, run: Run, api: ApiServer) -> None:
    (folder / "config.yaml").write_text(PROD)
    api.add(yaml.safe_load(NAMESPACE))
    live = ("--kubeconfig", "kubeconfig", "-n", "shop")

    ran = run("config", "check", "--config", "config.yaml", *live)

    assert f"{EXAMPLE}, in namespace shop: from profile prod" in ran.out


@pytest.mark.parametrize(
    "source", [("--facts", "cluster.yaml"), ("-f", "cluster.yaml", "-f", "pod.yaml")]
)
def test_an_absent_namespace_is_an_error(source: list[str], folder: Path, run: Run) -> None:
    (folder / "cluster.yaml").write_text(NAMESPACE)
    (folder / "pod.yaml").write_text(files.POD)

    ran = run("config", "check", *source, "-n", "shopp")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: -n: there is no namespace 'shopp': did you mean shop?\n"


# file of -f, exit code, message
EXAMPLES = {
    "a configuration": (files.CONFIG, 2, "error: pod.yaml: is a SpreadConfiguration: name it wi"),
    "a pod that cannot be read": (files.POD + files.TYPE_ERROR, 2, "error: pod.yaml:1: the object"),
    "no YAML": ("kind: [", 3, "error: pod.yaml:1: invalid YAML"),
}


@pytest.mark.parametrize(("text", "code", "message"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_an_unusable_example_is_an_error(
    text: str, code: int, message: str, folder: Path, run: Run
) -> None:
    (folder / "pod.yaml").write_text(text)

    ran = run("config", "check", "-f", "pod.yaml")

    assert ran.code == code
    assert ran.err.startswith(message)


# text of the standard input, arguments -> warning
WITHOUT_POD = {
    "nothing": ("", (), "warning: stdin: contains no Pod\n"),
    "no object": ("a: 1", (), "warning: stdin: contains no Pod\n"),
    "another kind": (files.SERVICE, (), "warning: stdin: contains no Pod\n"),
    "no selected pod": (
        files.POD, ("-l", "app=db"), "warning: stdin: contains no Pod that -l selects\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "arguments", "warning"), WITHOUT_POD.values(), ids=WITHOUT_POD.keys()
)
def test_without_a_pod_there_is_a_warning_and_an_error_if_strict(
    text: str, arguments: tuple[str, ...], warning: str, run: Run
) -> None:
    loose = run("config", "check", "-f", "-", *arguments, stdin=text.encode())
    strict = run("config", "check", "-", "--strict", *arguments, stdin=text.encode())

    assert (loose.code, strict.code) == (0, 3)
    assert loose.err.startswith(warning)
    assert EXAMPLE in loose.out
    assert strict.err.startswith("error: stdin: ")


def test_labels_select_the_example(configured: Path, run: Run) -> None:
    other = files.POD.replace("app: web", "app: db").replace("web-1", "db-1")
    (configured / "pods.yaml").write_text(f"{files.POD}---\n{other}")

    ran = run("config", "check", "pods.yaml", "--config", "config.yaml", "-l", "app=db")

    assert "defaults of Pod shop/db-1: " in ran.out
