"""
The image: its recipe, and the built image.

There is no container engine. So a root is built from the Debian packages of the base image, the
commands of the recipe fill it, and it is entered as its user, read-only. That downloads
some 60 MB and needs root, hence only with ``EVENSPREAD_TEST_IMAGE=1``, and mmdebstrap (Debian).
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.controlplane.processes import Process, free_port
from tests.deploy.manifests import DEPLOY, Helm, by_name
from webhook import __version__

CONTAINERFILE = DEPLOY / "image" / "Containerfile"
ROOT = DEPLOY.parent

BASE_PACKAGES = (
    *("python3.11-minimal", "libpython3.11-stdlib", "libstdc++6", "ca-certificates"),
    *("netbase", "tzdata"),
)
"""Of gcr.io/distroless/python3-debian12, without what they depend on."""

Stage: TypeAlias = list[tuple[str, str]]
"""Instructions and what follows them, lines joined."""


def read_stages() -> list[Stage]:
    text = re.sub(r"\\\n\s*", "", CONTAINERFILE.read_text())
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    found: list[Stage] = [[]]
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found[1:]


@pytest.fixture(scope="module")
def stages() -> list[Stage]:
    return read_stages()


def test_dependencies_are_wheels_of_known_hashes(stages: list[Stage]) -> None:
    (install,) = (rest for word, rest in stages[0] if word == "RUN" and "pip install" in rest)

    flags = shlex.split(install)
    assert {"--require-hashes", "--only-binary=:all:", "--no-deps"} <= set(flags)
    assert flags[flags.index("-r") + 1] == "runtime.txt"


DIGEST = f"registry.example.com/image@sha256:{'a' * 64}"

BASES: dict[str, tuple[str, str, str]] = {
    "both by digest": (DIGEST, DIGEST, ""),
    "no image": ("", "", "BUILD is ''"),
    "a tag": (DIGEST, "registry.example.com/image:1", "BASE is 'registry.example.com/image:1'"),
    "half a digest": (f"{DIGEST[:-1]}", DIGEST, "name a base image by its digest"),
}


@pytest.mark.parametrize(("build", "base", "error"), BASES.values(), ids=BASES.keys())
def test_the_build_stops_unless_base_images_are_named_by_digest(
    build: str, base: str, error: str
) -> None:
    values = ("NAME=evenspread:1", f"BUILD={build}", f"BASE={base}", "ENGINE=echo")

    done = subprocess.run(
        ["make", "--no-print-directory", "image", *values],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    command = f"build --build-arg BUILD={build} --build-arg BASE={base}"
    assert error in done.stderr
    assert (done.returncode == 0) == (command in done.stdout) == (not error)


def test_base_images_have_no_default_and_are_checked_in_the_build(stages: list[Stage]) -> None:
    text = CONTAINERFILE.read_text()
    _, check = next(step for step in stages[0] if step[0] == "RUN")

    assert re.findall("^ARG (.*)$", text, re.MULTILINE) == ["BUILD", "BASE", "BUILD", "BASE"]
    for build, base, error in BASES.values():
        done = subprocess.run(
            ["sh", "-euc", check],
            env={"BUILD": build, "BASE": base},
            capture_output=True,
            text=True,
            check=False,
        )
        by_digest = "@sha256:" in build and "@sha256:" in base
        assert (done.returncode == 0) is by_digest, error
        assert by_digest or "name it by digest" in done.stderr


def test_what_runs_needs_no_shell(stages: list[Stage]) -> None:
    last = stages[-1]

    assert "RUN" not in {word for word, _ in last}
    assert all(rest.startswith("[") for word, rest in last if word in ("ENTRYPOINT", "CMD"))


def test_the_user_is_that_of_the_pod(helm: Helm, stages: list[Stage]) -> None:
    pod = by_name(helm.objects({}))["Deployment/evenspread"]["spec"]["template"]["spec"]
    user = pod["securityContext"]["runAsUser"]

    assert dict(stages[-1])["USER"] == f"{user}:{user}"


def test_what_is_copied_exists_and_is_not_ignored(stages: list[Stage]) -> None:
    ignored = Path(f"{CONTAINERFILE}.dockerignore").read_text().splitlines()

    for word, rest in (instruction for stage in stages for instruction in stage):
        if word == "COPY" and not rest.startswith("--from"):
            source = rest.split()[0]
            assert (ROOT / source).exists()
            assert f"!{source}" in ignored


@pytest.fixture(scope="module")
def image(stages: list[Stage], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a container."""
    if os.environ.get("EVENSPREAD_TEST_IMAGE") != "1" or shutil.which("mmdebstrap") is None:
        pytest.skip("building the image takes EVENSPREAD_TEST_IMAGE=1 and mmdebstrap")
    folder = tmp_path_factory.mktemp("image")
    root = folder / "root"
    run("mmdebstrap", "--variant=extract", f"--include={','.join(BASE_PACKAGES)}", "bookworm", root)
    build, last = stages
    for word, rest in build:
        if word == "COPY":
            copy(ROOT / rest.split()[0], inside(folder, rest.split()[1]))
        elif word == "RUN":
            images = f"BUILD={DIGEST} BASE={DIGEST}\n"
            programs = f"{images}alias python={sys.executable} pip='{sys.executable} -m pip'\n"
            command = rest.replace("/made", str(folder / "made"))
            run("sh", "-euc", f"cd {inside(folder, '.')}\n{programs}eval '{command}'")
    for rest in (rest for word, rest in last if word == "COPY"):
        *_, source, target = rest.split()
        made = source.startswith("/made")
        copy(folder / source[1:] if made else ROOT / source, root / target[1:])
    return root


def inside(folder: Path, path: str) -> Path:
    """Where a path of the first stage is here; relative ones are in its working directory."""
    place = folder / path[1:] if path.startswith("/") else folder / "build" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    (folder / "build").mkdir(exist_ok=True)
    return place


def copy(source: Path, target: Path) -> None:
    """Copy as COPY does: what is in a folder, a file to its name or into a folder."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def entered(root: Path, stages: list[Stage], *args: str) -> list[str]:
    """The command that enters a root as a kubelet would: read-only, as its user, with /proc."""
    last = dict(stages[-1])
    program = [part.strip(' "') for part in last["ENTRYPOINT"].strip("[]").split(",")]
    steps = (
        f"mount --bind {root} {root}",
        f"mount -t proc proc {root}/proc",
        f"mount -t tmpfs -o mode=1777 tmpfs {root}/mnt",
        f"mount -o remount,bind,ro {root}",
        shlex.join(["exec", "chroot", f"--userspec={last['USER']}", str(root), *program, *args]),
    )
    (root / "proc").mkdir(exist_ok=True)
    (root / "mnt").mkdir(exist_ok=True)
    clean = ("/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *last["ENV"].split())
    return [*clean, "unshare", "--mount", "sh", "-euc", "\n".join(steps)]


def test_the_program_runs_without_a_shell(image: Path, stages: list[Stage]) -> None:
    assert not (image / "bin" / "sh").exists()
    assert run(*entered(image, stages, "--version")) == f"evenspread {__version__}\n"


def test_the_server_runs_in_a_root_that_it_cannot_write(
    image: Path, stages: list[Stage], tmp_path: Path
) -> None:
    health = free_port()
    ports = (f"--port={free_port()}", f"--health-port={health}")
    command = entered(image, stages, "serve", "--standalone", "--state=/mnt/state", *ports)
    process = Process("evenspread", command, log=tmp_path / "log")

    def ready() -> bool:
        with (
            suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{health}/readyz", timeout=5) as answer,
        ):
            return bool(answer.status == 200)
        return False

    process.start()
    try:
        process.wait_until(ready)
    finally:
        process.kill()
