"""
Measure the structure of the product: ``python -m tests.structure``, or ``make structure``.

A part is a package directly below ``webhook``, a module that lies loose there, or ``certs``. An
arrow leads from a part to each part that it imports. The exit code is 1 if a bound is exceeded.
"""

import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import grimp

ROOT = Path(__file__).parents[1]

MOST_PARTS = 20  # a newcomer keeps about as many in mind
MOST_ARROWS = 75
LARGEST_SHARE = 0.3  # of all lines, in one part
LONGEST_MODULE = 350  # lines

Arrow = tuple[str, str]


class Structure(NamedTuple):
    """
    The parts of the product and what leads from one to another.

    Attributes:
        lines: Part -> lines of its modules.
        arrows: Importing part and imported part.
        long_modules: Path -> lines, of modules that are too long.
    """

    lines: Mapping[str, int]
    arrows: frozenset[Arrow]
    long_modules: Mapping[str, int]

    @property
    def largest(self) -> tuple[str, float]:
        """The part with most lines, and its share of all lines."""
        part = max(self.lines, key=lambda name: self.lines[name])
        return part, self.lines[part] / sum(self.lines.values())


def part_of(module: str) -> str:
    """Name the part of a module, as ``webhook.policy``; ``webhook`` for modules directly in it."""
    names = module.split(".")
    return ".".join(names[:2]) if names[0] == "webhook" else names[0]


def measure(root: Path = ROOT) -> Structure:
    """Measure the checkout."""
    lines: dict[str, int] = {}
    long_modules: dict[str, int] = {}
    for package in ("webhook", "certs"):
        for file in sorted((root / package).rglob("*.py")):
            path = file.relative_to(root)
            count = len(file.read_text().splitlines())
            part = part_of(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
            lines[part] = lines.get(part, 0) + count
            if count > LONGEST_MODULE:
                long_modules[str(path)] = count
    lines.pop("webhook", None)  # the version, and nothing else
    return Structure(lines, frozenset(_arrows(frozenset(lines))), long_modules)


def _arrows(parts: frozenset[str]) -> Iterator[Arrow]:
    graph = grimp.build_graph("webhook", "certs", include_external_packages=False, cache_dir=None)
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            arrow = part_of(importer), part_of(imported)
            if arrow[0] != arrow[1] and parts.issuperset(arrow):
                yield arrow


def layers(root: Path = ROOT) -> list[frozenset[str]]:
    """Read the layers of ``webhook`` from pyproject.toml, the topmost first."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract.get("containers") == ["webhook"])
    names = (layer.replace("|", " ").replace(":", " ").split() for layer in contract["layers"])
    return [frozenset(f"webhook.{name.strip('()')}" for name in layer) for layer in names]


def upward(arrows: frozenset[Arrow], order: list[frozenset[str]]) -> list[Arrow]:
    """List the arrows from a layer to one above it."""
    height = {part: number for number, layer in enumerate(reversed(order)) for part in layer}
    return sorted(arrow for arrow in arrows if height.get(arrow[0], -1) < height.get(arrow[1], -1))


def circles(arrows: frozenset[Arrow]) -> list[str]:
    """Return one import cycle for each part that is in one."""
    targets: dict[str, set[str]] = {}
    for importer, imported in arrows:
        targets.setdefault(importer, set()).add(imported)
    return sorted(filter(None, (_circle(part, targets) for part in targets)))


def _circle(start: str, targets: Mapping[str, set[str]]) -> str:
    ways = [[start]]
    seen = {start}
    while ways:
        way = ways.pop(0)
        for part in sorted(targets.get(way[-1], ())):
            if part == start:
                return " -> ".join((*way, part))
            if part not in seen:
                seen.add(part)
                ways.append([*way, part])
    return ""


def main() -> int:
    """Print the measures; returns 1 if a bound is exceeded."""
    found, order = measure(), layers()
    rising, round_trips = upward(found.arrows, order), circles(found.arrows)
    largest, share = found.largest
    rows = (
        (f"parts: {len(found.lines)}", len(found.lines) <= MOST_PARTS),
        (f"arrows: {len(found.arrows)}", len(found.arrows) <= MOST_ARROWS),
        (f"arrows upward: {_listed(' -> '.join(arrow) for arrow in rising)}", not rising),
        (f"circles: {_listed(round_trips)}", not round_trips),
        (f"largest part: {largest}, {share:.0%} of the lines", share < LARGEST_SHARE),
        (f"long modules: {_listed(found.long_modules)}", not found.long_modules),
        (f"lines: {sum(found.lines.values())}", True),
    )
    for text, is_kept in rows:
        print(text if is_kept else f"{text}  <- too many")
    return int(not all(is_kept for _, is_kept in rows))


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    return f"{len(listed)}{': ' if listed else ''}{', '.join(listed)}"


if __name__ == "__main__":
    sys.exit(main())
