"""
Files nested thousands of levels deep: no command ends with a traceback or a signal.

Each command runs as a process, since a parser in C may crash the process that it runs in.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build import review_body
from tests.cli import files

DEEP = 9000  # levels: what kube-apiserver stores
DEEPER = 10_200  # levels: more than an API server sends in a review
TIMEOUT_S = 60.0

POD = files.POD + files.BROKEN  # with a finding, so that every command has output
MARK = '"@"'


def nested(depth: int, opening: str = '{"f:a":', closing: str = "}") -> str:
    return f"{opening * depth}{{}}{closing * depth}"


def managed(depth: int) -> str:
    """A valid Pod as JSON, except that its managed fields are ``depth`` levels deep."""
    head = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsV1": "@"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "deep", "namespace": "shop", "managedFields": [head]},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    return json.dumps(pod).replace(MARK, nested(depth))


def indented(depth: int) -> str:
    """A document of block YAML."""
    return "".join(f"{' ' * level}a:\n" for level in range(depth))


def billion_laughs(levels: int) -> str:
    """A document of YAML whose aliases expand to 10 to the power of ``levels`` items."""
    lines = ["a0: &a0 [x]"]
    for level in range(1, levels + 1):
        inner = ",".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} [{inner}]")
    return "\n".join(lines)


READ = {
    "object.json": managed(DEEP),
    "list.json": f'{{"apiVersion":"v1","kind":"List","items":[{managed(DEEP)}]}}',
    "flow.yaml": f"---\n{managed(DEEP)}\n",
    "deeper.json": managed(DEEPER),
}
"""What is JSON is read, whatever its depth: below 200 levels it counts as null."""

UNREAD = {
    "block.yaml": indented(2000),
    "brackets.json": "[" * 100_000,
    "brackets.yaml": "[" * 100_000,
    "sequences.yaml": "- " * 100_000,
    "keys.yaml": "? " * 100_000,
    "aliases.yaml": billion_laughs(9),
}
COMMANDS = {
    "validate": ("validate", "-f", "."),
    "audit": ("audit", "-f", "."),
    "fix": ("fix", "--diff", "-f", "."),
    "explain": ("explain", "pod/web-1", "-n", "shop", "-f", "."),
}


def run(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "webhook", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def assert_no_crash(done: subprocess.CompletedProcess[str]) -> None:
    """No traceback, no bug, no signal."""
    assert "Traceback" not in done.stderr
    assert "bug of evenspread" not in done.stderr
    assert done.returncode in range(4), done.stderr[:500]


@pytest.mark.parametrize("command", COMMANDS)
def test_deep_managed_fields_change_nothing(folder: Path, command: str) -> None:
    (folder / "pod.yaml").write_text(POD)
    for name, text in READ.items():
        (folder / name).write_text(text.replace(nested(DEEPER), "{}").replace(nested(DEEP), "{}"))
    shallow = run(folder, *COMMANDS[command])
    for name, text in READ.items():
        (folder / name).write_text(text)

    done = run(folder, *COMMANDS[command])

    assert_no_crash(done)
    assert (done.returncode, done.stdout) == (shallow.returncode, shallow.stdout), done.stderr


@pytest.mark.parametrize("command", ["validate", "audit", "fix"])
def test_files_that_are_too_deep_are_reported_and_the_others_are_read(
    folder: Path, command: str
) -> None:
    (folder / "pod.yaml").write_text(POD)
    for name, text in UNREAD.items():
        (folder / name).write_text(text)

    done = run(folder, *COMMANDS[command])

    assert_no_crash(done)
    assert done.returncode == 3
    assert [name for name in UNREAD if f"error: {name}:" not in done.stderr] == []
    assert "web-1" in done.stdout + done.stderr  # `fix --diff` reports it on stderr


@pytest.mark.parametrize("depth", [DEEP, DEEPER])
def test_a_review_with_deep_managed_fields_is_answered_as_one_without(
    folder: Path, depth: int
) -> None:
    marked = json.loads(managed(1).replace(nested(1), MARK))
    body = review_body(marked).decode()
    plain = run(folder, "review", "-f", "-", stdin=body.replace(MARK, "{}"))

    done = run(folder, "review", "-f", "-", stdin=body.replace(MARK, nested(depth)))

    assert_no_crash(done)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)


def test_a_deep_and_broken_review_is_an_error(folder: Path) -> None:
    done = run(folder, "review", "-f", "-", stdin=review_body({}).decode()[:-3] + "[" * 100_000)

    assert_no_crash(done)
    assert done.returncode == 3
    assert done.stderr.startswith("error: stdin:")
