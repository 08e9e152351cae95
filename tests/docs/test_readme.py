"""The README: its picture of a pod is what the program makes of it, and it stays short."""

import json
import subprocess
import sys
from pathlib import Path

import jsonpatch
import yaml

from tests.docs.markdown import README, ROOT, blocks

SCREENS = 2.5
LINES_A_SCREEN = 60

REVIEW = "review --cluster examples/cluster --config examples/config/spread.yaml -o json -f"


def picture(sign: str) -> str:
    """The pod of the picture: before with ``-``, after with ``+``."""
    diff = next(each.text for each in blocks(README) if each.language == "diff")
    return "\n".join(line[1:] for line in diff.splitlines() if line.startswith((" ", sign)))


def test_the_pod_in_the_picture_gets_what_is_shown(tmp_path: Path) -> None:
    before, after = (yaml.safe_load(picture(sign)) for sign in "-+")
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(picture("-"))

    said = subprocess.run(
        [sys.executable, "-m", "webhook", *REVIEW.split(), str(manifest)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    patch = json.loads(said)["response"]["patch"]
    patched = jsonpatch.apply_patch(before, patch)

    assert patched["metadata"].pop("annotations")["evenspread.io/defaults"]
    assert patched == after


def test_it_is_about_two_screens() -> None:
    assert README.read_text().count("\n") <= SCREENS * LINES_A_SCREEN


def test_it_does_not_ask_for_what_is_not_there() -> None:
    """What comes later stands in its line on the status, and nowhere else."""
    text = README.read_text()

    assert "helm install" not in text
    assert "kubectl apply" not in text
