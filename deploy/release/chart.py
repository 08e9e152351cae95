#!/usr/bin/env python3
"""
Package the chart of a release: ``chart.py IMAGE FOLDER < CHANGES``.

The packaged chart pulls IMAGE, which is ``REPOSITORY@sha256:DIGEST``, and its annotations for
Artifact Hub name this image and list CHANGES, a section of the changelog. In the repository, the
chart names the image that a user builds. Equal input gives equal bytes.
"""

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from archive import pack

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "chart"

_IMAGE = re.compile(r"(?P<repository>[^@\s]+)@(?P<digest>sha256:[0-9a-f]{64})")
_CHANGE = re.compile(r"^- (?P<text>.*(?:\n  .*)*)", re.MULTILINE)
_FIRST_SENTENCE = re.compile(r"(?P<sentence>.+?[.:])(?= [A-Z`]|$)")


class ChartError(Exception):
    """The chart cannot be packaged; the message says why."""


def list_changes(section: str) -> Iterator[dict[str, str]]:
    """Give the kind and the first sentence of each change in a section of the changelog."""
    for part in re.split(r"^### ", section, flags=re.MULTILINE)[1:]:
        kind, _, changes = part.partition("\n")
        for change in _CHANGE.finditer(changes):
            text = " ".join(change["text"].split())
            first = _FIRST_SENTENCE.match(text)
            yield {"kind": kind.lower(), "description": first["sentence"] if first else text}


def set_image(values: str, repository: str, digest: str) -> str:
    """Replace the image in the text of values.yaml, which keeps its comments."""
    for member, old, new in (("repository", "evenspread", repository), ("digest", '""', digest)):
        line = f"\n  {member}: {old}\n"
        if values.count(line) != 1:
            raise ChartError(f"values.yaml: image.{member} is not {old}: it has to be the default")
        values = values.replace(line, f"\n  {member}: {new}\n")
    return values


def set_annotations(text: str, image: str, changes: Sequence[dict[str, str]]) -> str:
    """Write the image and the changes into the text of Chart.yaml."""
    chart = yaml.safe_load(text)
    chart["annotations"] |= {
        "artifacthub.io/changes": yaml.safe_dump(list(changes), sort_keys=False),
        "artifacthub.io/images": yaml.safe_dump([{"name": chart["name"], "image": image}]),
    }
    return yaml.safe_dump(chart, sort_keys=False)


def package(image: str, folder: Path, section: str) -> Path:
    """
    Package the chart into a folder; gives the archive.

    Raises:
        ChartError: The image has no digest, or there are no changes.
    """
    if (named := _IMAGE.fullmatch(image)) is None:
        raise ChartError(f"image {image!r}: name it by digest, as in REPOSITORY@sha256:DIGEST")
    if not (changes := list(list_changes(section))):
        raise ChartError("no changes: give a section of the changelog, as `make notes` prints it")
    with tempfile.TemporaryDirectory() as aside:
        copy = Path(aside, "evenspread")
        shutil.copytree(CHART, copy)
        shutil.copy(ROOT / "LICENSE", copy)
        description, values = copy / "Chart.yaml", copy / "values.yaml"
        values.write_text(set_image(values.read_text(), **named.groupdict()))
        description.write_text(set_annotations(description.read_text(), image, changes))
        version = yaml.safe_load(description.read_text())["version"]
        archive = folder / f"evenspread-{version}.tgz"
        pack(Path(aside), archive)
    return archive


def main(arguments: Sequence[str]) -> int:
    """Package the chart; returns the exit code."""
    match arguments:
        case [image, folder]:
            try:
                package(image, Path(folder), sys.stdin.read())
            except ChartError as error:
                sys.stderr.write(f"make chart: {error}\n")
                return 1
            return 0
        case _:
            sys.stderr.write(__doc__ or "")
            return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
