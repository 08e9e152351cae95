import os
from pathlib import Path

import pytest

from tests.config.projects import write
from webhook.config.project import DEFAULT_EXCLUDES, PROJECT_FILE
from webhook.config.projectfile import load_project
from webhook.errors import CombinedConfigError
from webhook.policy.rule_entry import Action


def test_paths_are_relative_to_the_working_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(folder, "paths: [a, ./sub/, '-']\nfacts: [f]\nconfig: c.yaml\n")
    here = load_project(PROJECT_FILE)
    monkeypatch.chdir(folder / "sub")
    below = load_project(f"../{PROJECT_FILE}")

    assert here.paths == ("a", "sub", "./-")
    assert below.paths == ("../a", ".", "../-")
    assert (below.facts, below.config, below.scheduler_config) == (("../f",), "../c.yaml", "")
    assert (below.folder, below.root) == (file.parent, "..")


def test_actions_are_those_of_the_last_matching_entry(folder: Path) -> None:
    project = load_project(str(write(folder, "rules: {TSC11*: warn, TSC110: off}\n")))

    assert project.actions["TSC110"] is Action.OFF
    assert project.actions["TSC112"] is Action.WARN
    assert "TSC101" not in project.actions


def test_defaults(folder: Path) -> None:
    project = load_project(str(write(folder)))

    assert (project.paths, project.exclude, project.exemptions) == ((".",), DEFAULT_EXCLUDES, ())
    assert project.kube_version == ""


# what stands in the file
OUTSIDE = {
    "an absolute path": "paths: [/etc/passwd]",
    "a path above": "facts: [../x]",
    "a path through a folder above": "config: sub/../../x",
    "a link": "paths: [link]",
    "a loop of links": "schedulerConfig: loop",
}


@pytest.mark.parametrize("text", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_paths_must_stay_in_the_folder(text: str, folder: Path) -> None:
    (folder / "link").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    write(folder, text)

    with pytest.raises(CombinedConfigError) as caught:
        load_project(PROJECT_FILE)

    (error,) = caught.value.errors
    assert str(error).startswith(f"{PROJECT_FILE}:3: ")
    assert "leads out of the folder of the project file" in str(error)


def test_pipes_are_not_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    write(folder, "paths: [pipe]")

    with pytest.raises(CombinedConfigError) as caught:
        load_project(PROJECT_FILE)
    assert "is neither a file nor a folder" in str(caught.value.errors[0])


def test_exemptions_are_read(folder: Path) -> None:
    entry = "{rules: [TSC1*], reason: r, selector: {matchLabels: {app: x}}}"
    project = load_project(str(write(folder, f"exemptions:\n- {entry}\n")))

    (exemption,) = project.exemptions
    assert exemption.where.endswith(f"{PROJECT_FILE}:4: exemptions[0]")
    assert {"TSC101", "TSC110"} < exemption.rules
    assert exemption.covers("Pod", "a", "b", {"app": "x"})
