"""The README: its picture of a pod is what the program makes of it, and it stays short."""

import json
import subprocess
import sys
from pathlib import Path

import jsonpatch
import yaml

from tests.docs.markdown import README, ROOT, blocks
from webhook.cli.program import COMMANDS

SCREENS = 2.5
LINES_A_SCREEN = 60

REVIEW = "review --facts examples/cluster --config examples/config/spread.yaml -o json -f"


def picture(sign: str) -> str:
    """The pod of the picture: before with ``-``, after with ``+``."""
    diff = next(block.text for block in blocks(README) if block.language == "diff")
    return "\n".join(line[1:] for line in diff.splitlines() if line.startswith((" ", sign)))


def test_the_pod_in_the_picture_gets_what_is_shown(tmp_path: Path) -> None:
    before, after = (yaml.safe_load(picture(sign)) for sign in "-+")
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(picture("-"))

    output = subprocess.run(
        [sys.executable, "-m", "webhook", *REVIEW.split(), str(manifest)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    patch = json.loads(output.splitlines()[0])["response"]["patch"]
    apply_patch = jsonpatch.apply_patch(before, patch)

    assert apply_patch["metadata"].pop("annotations")["evenspread.io/defaults"]
    assert apply_patch == after


def test_it_is_about_two_screens() -> None:
    assert README.read_text().count("\n") <= SCREENS * LINES_A_SCREEN


def test_the_picture_shows_what_the_report_is_now() -> None:
    done = subprocess.run([sys.executable, "docs/draw.py", "--check"], cwd=ROOT, check=False)

    assert done.returncode == 0, "run make pictures"


def test_the_picture_is_small() -> None:
    assert (ROOT / "docs" / "pictures" / "report.png").stat().st_size < 200_000


def test_every_command_is_mentioned() -> None:
    text = README.read_text()

    assert {command for command in COMMANDS if f"`evenspread {command}" not in text} <= {
        "completion"
    }
