import os
from pathlib import Path

import pytest

from tests.config.projects import HEAD, write
from webhook.config.project import PROJECT_FILE, Exemption, Project, find_project
from webhook.errors import ConfigError
from webhook.policy.model import LabelSelector


def test_the_file_is_found_up_to_the_root_of_the_repository(folder: Path) -> None:
    file = write(folder)

    assert find_project(folder) == file
    assert find_project(folder / "sub") is None  # without a repository
    (folder / ".git").mkdir()
    assert find_project(folder / "sub") == file
    (folder / "sub/.git").touch()
    assert find_project(folder / "sub") is None


def test_a_file_above_the_repository_is_not_read(folder: Path) -> None:
    write(folder.parent)
    (folder / ".git").mkdir()

    assert find_project(folder) is None


def test_a_linked_project_file_must_be_in_its_folder(folder: Path) -> None:
    (folder.parent / "outside.yaml").write_text(HEAD)
    (folder / PROJECT_FILE).symlink_to("../outside.yaml")

    with pytest.raises(ConfigError, match="is a link that leads out of its folder"):
        find_project(folder)


def test_a_folder_or_a_pipe_is_no_project_file(folder: Path) -> None:
    os.mkfifo(folder / PROJECT_FILE)

    assert find_project(folder) is None


def test_a_pipe_that_a_configuration_names_is_not_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")

    with pytest.raises(ConfigError, match="is neither a file nor a folder"):
        Project(file=PROJECT_FILE).read("pipe")


def test_the_root_is_relative_to_the_working_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder / "sub")
    project = Project(file=f"../{PROJECT_FILE}")

    assert (project.folder, project.root) == (folder, "..")


def test_files_that_a_configuration_names_must_be_in_the_folder(folder: Path) -> None:
    (folder / "inside").write_text("a: 1")
    (folder.parent / "outside").write_text("secret: 1")
    project = Project(file=PROJECT_FILE)

    assert project.read("sub/../inside") == "a: 1"
    with pytest.raises(ConfigError, match="leads out of the folder"):
        project.read("../outside")


def test_folders_of_the_project_are_confined(folder: Path) -> None:
    project = Project(file=PROJECT_FILE, paths=("a",), facts=("f",))

    assert project.path_filter(["a"]).confined
    assert project.path_filter(["a", "f"]).confined
    assert project.path_filter([]).confined
    assert not project.path_filter(["b"]).confined
    assert project.path_filter(["b"]).root == folder


def test_paths_of_options_are_kept() -> None:
    project = Project(file=PROJECT_FILE, paths=("a",), facts=("f",))

    assert project.drop_own_paths(("a",)) == project.drop_own_paths(("f",)) == ()
    assert project.drop_own_paths(("a", "b")) == ("a", "b")


EXEMPTION = Exemption(
    where="p.yaml:1",
    rules=frozenset({"TSC110"}),
    reason="r",
    namespaces=("kube-*", "default"),
    kinds=("DaemonSet",),
    names=("node-*",),
    selector=LabelSelector({"app": "x"}),
)

# kind, namespace, name, labels, whether it is exempt
OBJECTS: dict[str, tuple[str, str, str, dict[str, str], bool]] = {
    "all match": ("DaemonSet", "kube-system", "node-a", {"app": "x"}, True),
    "no namespace": ("DaemonSet", "", "node-a", {"app": "x"}, True),
    "another namespace": ("DaemonSet", "shop", "node-a", {"app": "x"}, False),
    "another kind": ("Deployment", "default", "node-a", {"app": "x"}, False),
    "another name": ("DaemonSet", "default", "a-node", {"app": "x"}, False),
    "other labels": ("DaemonSet", "default", "node-a", {}, False),
}


@pytest.mark.parametrize(
    ("kind", "namespace", "name", "labels", "is_exempt"), OBJECTS.values(), ids=OBJECTS.keys()
)
def test_an_exemption_covers_what_matches_all_conditions(
    kind: str, namespace: str, name: str, labels: dict[str, str], is_exempt: bool
) -> None:
    assert EXEMPTION.covers(kind, namespace, name, labels) is is_exempt
