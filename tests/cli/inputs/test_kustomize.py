from pathlib import Path

import pytest

from tests.cli import files
from webhook.cli.inputs.kustomize import KustomizeFolder, build
from webhook.cli.inputs.manifests import Inputs
from webhook.errors import SourceError

BASE = KustomizeFolder("-base")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "pod.yaml").write_text(files.POD)
    return tmp_path


def install(folder: Path, name: str, script: str) -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("kustomize", "build -- -base"), ("kubectl", "kustomize -- -base")],
)
def test_a_program_that_is_installed_builds(name: str, arguments: str, programs: Path) -> None:
    install(programs, name, 'echo "# $*"')

    assert build(BASE) == f"# {arguments}\n"


def test_kustomize_is_preferred(programs: Path) -> None:
    install(programs, "kubectl", "exit 1")
    install(programs, "kustomize", "echo built")

    assert build(BASE) == "built\n"


# script, seconds, message
FAILURES = {
    "a failure": (
        "echo 'Error: no kustomization'; echo 'Error: no file' >&2; exit 1",
        *(60.0, "kustomize build -base: failed: Error: no file"),
    ),
    "a silent failure": ("exit 3", 60.0, "kustomize build -base: failed: exit 3"),
    "a program that hangs": (
        "while :; do :; done",
        *(0.2, "kustomize build -base: did not end in 0.2 s, and was killed"),
    ),
}


@pytest.mark.parametrize(("script", "seconds", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_failures_are_errors(script: str, seconds: float, message: str, programs: Path) -> None:
    install(programs, "kustomize", script)

    with pytest.raises(SourceError) as caught:
        build(BASE, seconds)

    assert str(caught.value) == message


HEADER = "E1124 01:10:12.336081    5110 run.go:72] "
# what kubectl prints, problem
LOGGED = {
    "an error": (f'{HEADER}"command failed" err="no file"', "no file"),
    "quotes": (f'{HEADER}"command failed" err="no \\"file\\""', 'no "file"'),
    "lines": (f'{HEADER}"command failed" err=<\n\tno file\n\tno folder\n >', "no file no folder"),
    "another message": (f"W1124 01:10:12.336081 1 x.go:7] old\n{HEADER}failed", "old failed"),
    "no log": ("error: no file", "error: no file"),
}


@pytest.mark.parametrize(("printed", "problem"), LOGGED.values(), ids=LOGGED.keys())
def test_errors_of_kubectl_have_no_header_of_its_log(
    printed: str, problem: str, programs: Path
) -> None:
    (programs / "errors").write_text(printed)
    install(programs, "kubectl", "/bin/cat errors >&2; exit 1")

    with pytest.raises(SourceError) as caught:
        build(BASE)

    assert str(caught.value) == f"kubectl kustomize -base: failed: {problem}"


@pytest.mark.usefixtures("programs")
def test_without_a_program_the_error_names_both() -> None:
    with pytest.raises(SourceError, match="neither kustomize nor kubectl is installed"):
        build(BASE)


def test_inputs_are_built(programs: Path) -> None:
    install(programs, "kustomize", 'while read -r line; do echo "$line"; done < pod.yaml')
    inputs = Inputs([KustomizeFolder("base")])
    (programs / "pod.yaml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: web-1}}\n")

    (document,) = inputs.objects()

    assert (document.name, document.source) == ("web-1", "kustomize build base")
    assert (inputs.problems, inputs.skipped) == ([], [])


@pytest.mark.usefixtures("programs")
def test_a_failed_build_is_a_problem() -> None:
    inputs = Inputs([KustomizeFolder("base")])

    assert list(inputs.objects()) == []
    assert [problem.source for problem in inputs.problems] == ["kustomize build base"]


def test_too_many_bytes_are_refused(programs: Path) -> None:
    install(programs, "kustomize", "exec /usr/bin/head -c 1048577 /dev/zero")

    with pytest.raises(SourceError, match="printed more than 1 MiB"):
        build(BASE, most=1 << 20)
