"""A label key that is literally a short name is that key, in options and in the output."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run

NODE = """\
apiVersion: v1
kind: Node
metadata: {name: %s1, labels: {kubernetes.io/hostname: %s1, zone: %s%s}}
spec: {unschedulable: %s}
---
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: zone
        minDomains: 3
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
"""
BOTH = ", topology.kubernetes.io/zone: %s"


def write(folder: Path, *, both: bool) -> None:
    nodes = (
        NODE
        % (name, name, name.upper(), BOTH % f"z{name}" if both else "", str(name == "c").lower())
        for name in "abc"
    )
    (folder / "x.yaml").write_text("".join(nodes) + WEB)


# whether the nodes have the well-known label too, option; start of the output
LOST: dict[str, tuple[bool, tuple[str, ...], str]] = {
    "the literal key": (False, ("--without", "zone=C"), "if you lose zone C: "),
    "the literal key beside the other": (True, ("--without", "zone=C"), "if you lose zone C: "),
    "the well-known key beside it": (
        True,
        ("--without", "topology.kubernetes.io/zone=zc"),
        "if you lose topology.kubernetes.io/zone zc: ",
    ),
    "new nodes": (True, ("--add-nodes", "zone=C:2"), "if you add 2 nodes with zone=C: "),
    "new nodes of the well-known key": (
        True,
        ("--add-nodes", "topology.kubernetes.io/zone=zc"),
        "if you add 1 node with topology.kubernetes.io/zone=zc: ",
    ),
}


@pytest.mark.parametrize(("both", "option", "start"), LOST.values(), ids=LOST.keys())
def test_a_literal_key_wins_over_the_short_name(
    folder: Path, run: Run, both: bool, option: tuple[str, ...], start: str
) -> None:
    write(folder, both=both)

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "x.yaml", *option)

    assert ran.out.startswith(start)
    assert ran.err == ""


def test_the_well_known_key_has_its_short_name_no_more(folder: Path, run: Run) -> None:
    write(folder, both=True)

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "x.yaml", "--without", "zone=D")

    assert ran == (2, "", "error: --without: no node has the label zone=D: zone is A, B, C\n")


def test_the_page_names_keys_likewise(folder: Path, run: Run) -> None:
    write(folder, both=True)
    text = (folder / "x.yaml").read_text()
    (folder / "x.yaml").write_text(
        text.replace("topologyKey: zone", "topologyKey: topology.kubernetes.io/zone")
    )

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "x.yaml", "-o", "html")

    assert "Constraint 0:\ntopology.kubernetes.io/zone</h2>" in ran.out
