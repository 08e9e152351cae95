"""Which Pythons are found for the unit tests."""

from pathlib import Path

import pytest

from tests.pythons import find, main, search_path


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def interpreter(path: Path) -> Path:
    """What answers as the interpreter of its name does."""
    return script(path, f"echo {path.name.removeprefix('python')}")


def test_one_interpreter_of_each_version_is_found(tmp_path: Path) -> None:
    first = interpreter(tmp_path / "a/python3.13")
    interpreter(tmp_path / "b/python3.13")
    second = interpreter(tmp_path / "b/python3.11")

    found = find([tmp_path / "a", tmp_path / "b", tmp_path / "missing"])

    assert list(found.items()) == [("3.11", second), ("3.13", first)]


UNUSABLE = {
    "too old": ("python3.10", "echo 3.10"),
    "a shim of a version that is not selected": ("python3.12", "echo 3.12; exit 127"),
    "another version than in its name": ("python3.12", "echo 3.11"),
    "a pre-release, or another implementation": ("python3.12", "echo"),
    "no interpreter": ("python3.12-config", "echo 3.12"),
    "free-threaded": ("python3.13t", "echo 3.13"),
}


@pytest.mark.parametrize(("name", "text"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_it_is_passed_over(name: str, text: str, tmp_path: Path) -> None:
    script(tmp_path / name, text)

    assert find([tmp_path]) == {}


def test_a_file_that_cannot_be_run_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "python3.12").write_text("")

    assert find([tmp_path]) == {}


def test_pyenv_follows_the_path_with_its_newest_release_first(tmp_path: Path) -> None:
    for release in ("3.12.9", "3.12.10", "2.7.18"):
        (tmp_path / "versions" / release / "bin").mkdir(parents=True)

    folders = search_path({"PATH": "/usr/bin::/bin", "PYENV_ROOT": str(tmp_path)})

    pyenv = [tmp_path / "versions" / release / "bin" for release in ("3.12.10", "3.12.9")]
    assert folders == [Path("/usr/bin"), Path("/bin"), *pyenv]


def test_pyenv_is_in_the_home_folder_unless_it_is_named(tmp_path: Path) -> None:
    (tmp_path / ".pyenv/versions/3.12.1/bin").mkdir(parents=True)

    assert search_path({"HOME": str(tmp_path)}) == [tmp_path / ".pyenv/versions/3.12.1/bin"]


def test_the_path_of_a_version_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = interpreter(tmp_path / "python3.12")

    assert main(["3.12"], {"PATH": str(tmp_path), "HOME": "/nowhere"}) == 0
    assert capsys.readouterr().out == f"{program}\n"


def test_a_version_that_is_not_there_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    interpreter(tmp_path / "python3.12")

    assert main(["3.99"], {"PATH": str(tmp_path), "HOME": "/nowhere"}) == 1
    assert capsys.readouterr().err == "no Python 3.99 on PATH or in pyenv; found: 3.12\n"


def test_the_running_version_is_not_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for minor in range(11, 21):
        interpreter(tmp_path / f"python3.{minor}")

    assert main([], {"PATH": str(tmp_path), "HOME": "/nowhere"}) == 0
    assert len(capsys.readouterr().out.split()) == 9
