import io
import sys
from pathlib import Path

import pytest

from tests.audit import customs, world
from tests.cli import files
from tests.cli.files import REFERRING_ROLLOUT as ROLLOUT
from tests.cli.inputs.test_kustomize import install
from tests.cli.inputs.test_unknowntemplates import DEPLOYMENT_WEB
from webhook.cli.inputs.kustomize import KustomizeFolder
from webhook.cli.inputs.manifests import STDIN_SOURCE, InputFiles, Inputs, name_judged
from webhook.policy.kinds import POD


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pod.yaml").write_text(files.POD)
    (tmp_path / "notes.yaml").write_text("a: 1\n")
    (tmp_path / "broken.yaml").write_text("{")
    return tmp_path


def test_constraint_lists_are_named_if_some_are_configured() -> None:
    named = name_judged(world.CONFIGURATION.pod_templates)
    with_lists = name_judged(customs.WITH_LISTS.pod_templates)

    assert (named, with_lists) == (
        "object with a pod template",
        "object with a pod template or a constraint list",
    )


def test_objects_are_read_and_the_rest_is_recorded(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = Inputs([str(folder)])

    assert [document.kind for document in inputs.objects()] == ["Pod"]
    assert [problem.source.rpartition("/")[2] for problem in inputs.problems] == ["broken.yaml"]
    assert [file.source.rpartition("/")[2] for file in inputs.skipped] == ["notes.yaml"]
    inputs.report()
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert "\nskipped " in err


POLICY = """\
apiVersion: evenspread.io/%s
kind: SpreadPolicy
metadata: {name: web}
"""


def test_spread_policies_are_noted_in_every_version(folder: Path) -> None:
    (folder / "policy.yaml").write_text(f"{POLICY % 'v1alpha1'}---\n{POLICY % 'v2'}")
    (folder / "other.yaml").write_text(POLICY.replace("evenspread.io/%s", "example.com/v1"))
    inputs, read = Inputs([str(folder)]), InputFiles([str(folder)], strict=False)
    kinds = [document.kind for document in inputs.objects()]

    assert kinds.count("SpreadPolicy") == 3
    for noted in (inputs.policies, read.policies):
        assert [item.api_version for item in noted] == [
            "evenspread.io/v1alpha1",
            "evenspread.io/v2",
        ]


# script of kustomize, kinds of all objects, sources of problems
BUILDS: dict[str, tuple[str, list[str], list[str]]] = {
    "a build": (
        """echo '{apiVersion: v1, kind: Service, metadata: {name: web}}'""",
        *(["Pod", "Service"], []),
    ),
    "a failed build": ("exit 1", ["Pod"], ["kustomize build base"]),
}


@pytest.mark.parametrize(("script", "kinds", "problems"), BUILDS.values(), ids=BUILDS.keys())
def test_objects_that_kustomize_builds_follow_those_of_files(
    script: str,
    kinds: list[str],
    problems: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(tmp_path, "kustomize", script)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "pod.yaml").write_text(files.POD)
    inputs = Inputs([KustomizeFolder("base"), str(tmp_path / "pod.yaml")])

    assert [document.kind for document in inputs.objects()] == kinds
    assert [problem.source for problem in inputs.problems] == problems


def test_strict_makes_errors_of_files_without_objects(folder: Path) -> None:
    inputs = Inputs([str(folder)], strict=True)

    assert len(list(inputs.objects())) == 1
    assert (len(inputs.problems), inputs.skipped) == (2, [])


def test_facts_are_read_likewise(folder: Path) -> None:
    (folder / "node.yaml").write_text(files.NODE)
    inputs = Inputs([])

    found = list(inputs.facts_objects([str(folder / "node.yaml"), str(folder)]))

    assert [document.kind for document in found].count("Node") == 2
    assert (len(inputs.problems), len(inputs.skipped)) == (1, 1)


def test_a_loop_of_links_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")

    inputs = InputFiles([str(tmp_path / "loop.yaml")], strict=False)

    assert ["symbolic links" in str(problem) for problem in inputs.problems] == [True]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text(files.POD)
    (tmp_path / "link.yaml").symlink_to(pod)

    read = InputFiles([str(pod), str(tmp_path)], strict=False)

    assert list(read.texts.values()) == [files.POD]
    assert read.originals[str(pod)].data == files.POD.encode()
    assert read.piped is None


@pytest.mark.parametrize("strict", [False, True])
def test_files_without_objects_are_skipped_or_errors(tmp_path: Path, strict: bool) -> None:
    (tmp_path / "notes.yaml").write_text("a: 1\n")
    (tmp_path / "broken.yaml").write_text("{")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xff\xff")
    (tmp_path / "empty").mkdir()

    read = InputFiles([str(tmp_path / name) for name in ("", "none", "empty")], strict=strict)

    assert (len(read.problems), len(read.skipped)) == ((5, 0) if strict else (3, 2))


def test_the_standard_input_is_kept_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(files.POD.encode())))

    read = InputFiles(["-"], strict=False)

    assert read.piped == files.POD.encode()
    assert read.texts == {STDIN_SOURCE: files.POD}


@pytest.mark.parametrize("script", ["echo '{apiVersion: v1, kind: Pod}'", "exit 1"])
def test_what_kustomize_builds_has_a_text_and_no_file(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "kustomize", script)
    monkeypatch.setenv("PATH", str(tmp_path))

    read = InputFiles([KustomizeFolder("base")], strict=False)

    text = {"kustomize build base": "{apiVersion: v1, kind: Pod}\n"}
    assert (read.texts, len(read.problems)) == (({}, 1) if script == "exit 1" else (text, 0))
    assert read.originals == {}


@pytest.mark.parametrize("strict", [True, False])
def test_nothing_to_work_on_is_reported(strict: bool, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = Inputs(["-", "a"], strict=strict)

    inputs.report_nothing("pod")
    inputs.report_nothing("pod", "the cluster")

    inputs.report()
    assert capsys.readouterr().err.splitlines() == (
        ["error: stdin, a: contains no pod"]
        if strict
        else ["warning: stdin, a: contains no pod", "warning: the cluster: contains no pod"]
    )


@pytest.mark.parametrize("kind", ["Kustomization", "Component"])
@pytest.mark.parametrize("strict", [True, False])
def test_a_kustomization_alone_names_the_option_that_builds_it(
    kind: str, strict: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: {kind}\n"
    (tmp_path / "kustomization.yaml").write_text(header + "resources: [deployment.yaml]\n")
    inputs = Inputs([str(tmp_path)], strict=strict)
    list(inputs.objects())

    inputs.report_nothing("pod")
    inputs.report()

    word = "error" if strict else "warning"
    assert capsys.readouterr().err == (
        f"{word}: {tmp_path}: contains no pod: a kustomization is not a manifest: -k FOLDER reads "
        "what kustomize builds from it\n"
    )


def test_namespaces_and_kinds_of_files_are_known(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(files.POD + "---\n" + files.NODE)

    read = InputFiles([str(tmp_path)], strict=False)

    assert read.namespaces == {"", "shop"}
    assert {str(kind.kind) for kind in read.kinds} == {"Pod", "Node", "Deployment"}


TWICE = "apiVersion: v1\nkind: {kind}\nmetadata: {{name: a, name: b}}\n"


def test_strict_makes_duplicate_keys_problems_unless_they_are_findings(tmp_path: Path) -> None:
    for kind in ("Service", "Pod"):
        (tmp_path / f"{kind}.yaml").write_text(TWICE.format(kind=kind))
    path = str(tmp_path)

    for strict, judged, expected in (
        (False, None, 0),
        (True, None, 2),
        (True, {POD: ()}, 1),
    ):
        inputs = Inputs([path], strict=strict, judged=judged)
        assert len(list(inputs.objects())) == 2
        assert len(inputs.problems) == expected
        read = InputFiles([path], strict=strict, judged=judged)
        assert len(read.problems) == expected


def test_a_problem_names_the_key_and_all_its_lines(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TWICE.format(kind="Service").replace(", ", ",\n  "))

    inputs = Inputs([str(tmp_path)], strict=True)

    assert list(inputs.objects())
    assert [problem.problem for problem in inputs.problems] == [
        "duplicate key 'name': lines 3 and 4"
    ]


def test_unknown_templates_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(ROLLOUT)
    (tmp_path / "b.yaml").write_text(DEPLOYMENT_WEB)
    alone, beside = Inputs([str(tmp_path / "a.yaml")]), Inputs([str(tmp_path / "a.yaml")])

    list(alone.objects())
    alone.note_unknown_templates()
    assert capsys.readouterr().err.count("note: ") == 1

    list(beside.objects())
    list(beside.facts_objects([str(tmp_path / "b.yaml")]))
    beside.note_unknown_templates()
    assert capsys.readouterr().err == ""
