"""Wheel and sdist: in order for an index, the same bytes twice, and enough without the checkout."""

import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.release.conftest import ROOT, build, checksums, copy_of_checkout, downloads, run
from webhook import __version__

MANIFESTS = ROOT / "examples" / "manifests"
POD = ROOT / "docs" / "walkthrough" / "shop.yaml"


def test_files_are_named_for_the_version(checkout: Path) -> None:
    assert sorted(file.name for file in (checkout / "dist").iterdir()) == [
        f"evenspread-{__version__}-py3-none-any.whl",
        f"evenspread-{__version__}.tar.gz",
    ]


def test_an_index_would_show_them(checkout: Path) -> None:
    files = sorted((checkout / "dist").iterdir())

    output = run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files)

    assert output.count("PASSED") == len(files)


def test_the_wheel_holds_what_belongs_there(checkout: Path, wheel: Path) -> None:
    program = Path(sysconfig.get_path("scripts"), "check-wheel-contents")

    assert run(program, wheel, cwd=checkout).strip().endswith("OK")


def test_the_sdist_is_enough_to_build_the_wheel(checkout: Path, tmp_path: Path) -> None:
    (sdist,) = (checkout / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")

    (unpacked,) = tmp_path.iterdir()
    wheel = f"evenspread-{__version__}-py3-none-any.whl"

    assert build(unpacked)[wheel] == checksums(checkout)[wheel]


def test_the_same_sources_make_the_same_bytes(checkout: Path, tmp_path: Path) -> None:
    other = copy_of_checkout(tmp_path / "elsewhere", checkout)

    assert build(other) == checksums(checkout)


def test_every_file_that_is_no_code_is_in_the_wheel(checkout: Path, wheel: Path) -> None:
    files = [path for path in (checkout / "webhook").rglob("*") if path.is_file()]
    data = {str(file.relative_to(checkout)) for file in files if file.suffix not in (".py", ".pyc")}

    assert data
    assert data <= set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    One in which only the wheel is installed.

    Its dependencies are those of these tests: a path leads to them, and the editable install of the
    checkout that is there counts only for who starts in that folder.
    """
    folder = tmp_path_factory.mktemp("installed") / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "uv", "pip", "install", "--no-deps", "--python", python, wheel)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder


COMMANDS = {
    "help": (("evenspread", "--help"), "Commands:"),
    "version": (("evenspread", "--version"), f"evenspread {__version__}"),
    "manifests are checked": (("evenspread", "validate", "-f", MANIFESTS), "0 denied"),
    "kubectl finds it": (("kubectl-evenspread", "--version"), f"kubectl evenspread {__version__}"),
    "reports have their template": (
        ("evenspread", "audit", "-f", MANIFESTS, "-o", "html"),
        "</html>",
    ),
    "explanations have theirs": (
        ("evenspread", "explain", "-f", POD, "-o", "html"),
        "</html>",
    ),
}


@pytest.mark.parametrize(("command", "expected"), COMMANDS.values(), ids=COMMANDS)
def test_the_wheel_works_without_the_checkout(
    environment: Path, tmp_path: Path, command: tuple[str | Path, ...], expected: str
) -> None:
    program, *arguments = command

    output = run(environment / "bin" / program, *arguments, cwd=tmp_path, check=False)

    assert expected in output


def test_what_runs_is_the_wheel(environment: Path, tmp_path: Path) -> None:
    ask = "import webhook; print(webhook.__file__)"

    where = run(environment / "bin" / "python", "-c", ask, cwd=tmp_path)

    assert Path(where.strip()).is_relative_to(environment)


@downloads
def test_pinned_dependencies_are_enough(wheel: Path, tmp_path: Path) -> None:
    uv = (sys.executable, "-m", "uv", "--quiet")
    into = (*uv, "pip", "install", "--no-deps", "--python", tmp_path / "bin" / "python")
    pinned = ROOT / "requirements" / "runtime.txt"

    run(*uv, "venv", "--no-project", "--python", sys.executable, "--clear", tmp_path)
    run(*into, "--require-hashes", "--requirement", pinned)
    run(*into, wheel)
    evenspread = tmp_path / "bin" / "evenspread"

    assert "0 denied" in run(evenspread, "validate", "-f", MANIFESTS, cwd=tmp_path)
    assert "--standalone" in run(evenspread, "serve", "--help", cwd=tmp_path)
    pip = (*uv, "pip", "check", "--python", tmp_path / "bin" / "python")
    assert run(*pip) == ""


@downloads
def test_it_runs_from_an_environment_of_its_own(wheel: Path) -> None:
    """As ``uvx`` and ``pipx`` do; `webhook` and `certs` are names that other packages may have."""
    uvx = (sys.executable, "-m", "uv", "--quiet", "tool", "run", "--python", sys.executable)

    output = run(*uvx, "--from", wheel, "evenspread", "--version")

    assert output == f"evenspread {__version__}\n"
