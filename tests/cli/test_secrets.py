"""No command repeats what a container is started with, nor annotations of others."""

import gzip
from pathlib import Path

import pytest

from tests.cli import files
from tests.cli.conftest import Run
from webhook.audit.renderers import AUDIT_FORMATS

CANARY = "canary-7f3a9c"

POD = files.POD.replace(
    "{name: web, image: nginx}",
    f"{{name: web, image: {CANARY}, args: [{CANARY}], env: [{{name: PASSWORD, value: {CANARY}}}]}}",
).replace("metadata:", f"metadata:\n  annotations: {{example.com/token: {CANARY}}}")
MANIFESTS = f"{POD}{files.BROKEN}---\n{POD.replace('web-1', 'web-2')}---\n{files.NODE}"

COMMANDS = {
    "validate": ("validate", "-f", "."),
    "validate as json": ("validate", "-f", ".", "-o", "json"),
    "review": ("review", "-f", ".", "--hook", "both"),
    "review as json": ("review", "-f", ".", "-o", "json"),
    "explain": ("explain", "-f", "."),
    "explain as json": ("explain", "-f", ".", "-o", "json"),
    "explain as html": ("explain", "-f", ".", "-o", "html"),
    "fix as json": ("fix", "-f", ".", "-o", "json"),
    **{f"audit as {name}": ("audit", "-f", ".", "-o", name) for name in AUDIT_FORMATS},
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_commands_repeat_no_secret(command: tuple[str, ...], folder: Path, run: Run) -> None:
    (folder / "pods.yaml").write_text(MANIFESTS)

    ran = run(*command)

    assert "web-1" in ran.out + ran.err
    assert CANARY not in ran.out + ran.err


def test_a_snapshot_contains_no_secret(folder: Path, run: Run) -> None:
    (folder / "pods.yaml").write_text(MANIFESTS)

    run("audit", "-f", ".", "--save-snapshot", "saved.json.gz")

    saved = gzip.decompress((folder / "saved.json.gz").read_bytes())
    assert b"web-1" in saved
    assert CANARY.encode() not in saved
