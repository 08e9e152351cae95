"""
The rules of krew for the manifest of a plugin, as far as they concern a manifest without ``files``.

``find_manifest_problem`` returns the first rule that a manifest breaks. krew's own program for its
index checks the same; the tests compare both.

Source: krew 0.4.3, ``internal/index/validation/validate.go``,
``internal/installation/semver/version.go`` and ``cmd/validate-krew-manifest/main.go``.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]

API_VERSION = "krew.googlecontainertools.github.com/v1alpha2"
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_NUMBER = r"(?:0|[1-9]\d*)"
_IDENTIFIER = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"v{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    rf"(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_SHA256 = re.compile(r"[a-f0-9]{64}")
_RESERVED = {"CON", "PRN", "AUX", "NUL"} | {
    f"{device}{number}" for device in ("COM", "LPT") for number in range(1, 10)
}
"""Names of files that Windows forbids."""

KNOWN_PLATFORMS = (
    *product(("windows",), ("386", "amd64", "arm64")),
    *product(("linux",), ("386", "amd64", "arm", "arm64")),
    *product(("darwin",), ("386", "amd64", "arm64")),
)
"""Operating system and architecture."""


def find_manifest_problem(name: str, manifest: Json) -> str | None:
    """
    Return the first problem of a manifest; None if krew accepts it.

    Args:
        name: The name of its file, without ``.yaml``.
    """
    spec = manifest.get("spec", {})
    short, version = spec.get("shortDescription", ""), spec.get("version", "")
    rules = {
        "apiVersion": manifest.get("apiVersion") == API_VERSION,
        "kind": manifest.get("kind") == "Plugin",
        "unsafe name": bool(_NAME.fullmatch(name)) and name.upper() not in _RESERVED,
        "name of the file": manifest.get("metadata", {}).get("name") == name,
        "shortDescription": bool(short) and not set(short) & {"\r", "\n"},
        "platforms": bool(spec.get("platforms")),
        "version": bool(_VERSION.fullmatch(version)),
    }
    broken = next((rule for rule, holds in rules.items() if not holds), None)
    return broken or _find_platforms_problem(spec["platforms"])


def _find_platforms_problem(platforms: Iterable[Json]) -> str | None:
    selectors: list[Json] = []
    for platform in platforms:
        selector = platform.get("selector") or {}
        rules = {
            "uri": bool(platform.get("uri")),
            "sha256": bool(_SHA256.fullmatch(platform.get("sha256", ""))),
            "bin": bool(platform.get("bin")),
            "selector": _is_selector(selector),
        }
        if broken := next((rule for rule, holds in rules.items() if not holds), None):
            return broken
        selectors.append(selector["matchLabels"])
    selected = [_selected(selector) for selector in selectors]
    if not all(selected):
        return "unknown platform"
    if len(set[tuple[str, str]]().union(*selected)) != sum(map(len, selected)):
        return "overlapping platforms"
    return None


def _is_selector(selector: Json) -> bool:
    labels = selector.get("matchLabels") or {}
    return bool(labels) and labels.keys() <= {"os", "arch"}


def _selected(labels: Json) -> set[tuple[str, str]]:
    return {
        (system, machine)
        for system, machine in KNOWN_PLATFORMS
        if labels.get("os", system) == system and labels.get("arch", machine) == machine
    }
