"""The image, as far as its recipe tells: what is built in it needs a container engine."""

import re
import shlex
from pathlib import Path

import pytest

from tests.deploy.manifests import DEPLOY, Helm, by_name

CONTAINERFILE = DEPLOY / "image" / "Containerfile"
ROOT = DEPLOY.parent


@pytest.fixture
def stages() -> list[list[tuple[str, str]]]:
    """The instructions of each stage, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", CONTAINERFILE.read_text())
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    found: list[list[tuple[str, str]]] = [[]]
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found[1:]


def test_dependencies_are_wheels_of_known_hashes(stages: list[list[tuple[str, str]]]) -> None:
    (install,) = (rest for word, rest in stages[0] if word == "RUN" and "pip install" in rest)

    flags = shlex.split(install)
    assert {"--require-hashes", "--only-binary=:all:", "--no-deps"} <= set(flags)
    assert flags[flags.index("-r") + 1] == "runtime.txt"


def test_what_runs_needs_no_shell(stages: list[list[tuple[str, str]]]) -> None:
    last = stages[-1]

    assert "RUN" not in {word for word, _ in last}
    assert all(rest.startswith("[") for word, rest in last if word in ("ENTRYPOINT", "CMD"))


def test_the_user_is_that_of_the_pod(helm: Helm, stages: list[list[tuple[str, str]]]) -> None:
    pod = by_name(helm.objects({}))["Deployment/evenspread"]["spec"]["template"]["spec"]
    user = pod["securityContext"]["runAsUser"]

    assert dict(stages[-1])["USER"] == f"{user}:{user}"


def test_what_is_copied_exists_and_is_not_ignored(stages: list[list[tuple[str, str]]]) -> None:
    ignored = Path(f"{CONTAINERFILE}.dockerignore").read_text().splitlines()

    for word, rest in (each for stage in stages for each in stage):
        if word == "COPY" and not rest.startswith("--from"):
            source = rest.split()[0]
            assert (ROOT / source).exists()
            assert f"!{source}" in ignored
