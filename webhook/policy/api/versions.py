"""
Kubernetes versions, as far as spreading depends on them: major and minor.

Source: KEP-895 for the first one; apimachinery pkg/version for how API servers write theirs.
"""

import re
from typing import NamedTuple

from webhook.errors import VersionError


class Version(NamedTuple):
    """A Kubernetes minor version; versions compare as they were released."""

    major: int
    minor: int

    def __str__(self) -> str:
        """Write it as ``1.36``."""
        return f"{self.major}.{self.minor}"


OLDEST_VERSION = Version(1, 16)  # the first release with topologySpreadConstraints
NEWEST_VERSION = Version(1, 37)  # the newest release whose behaviour was compared with ours

BETWEEN = ".."  # between the first and the last version of a range, both of which belong to it

_VERSION = re.compile(
    r"v?(\d{1,4})\.(\d{1,4})(?:\+|[-.].*)?", re.ASCII
)  # v1.33.5-eks-113cf36, 1.24+


def parse_version(text: str) -> Version:
    """
    The minor version in a text as people and API servers write it.

    Args:
        text: ``1.33``, ``v1.33.5``, ``1.24+`` or a vendor's ``v1.33.5-eks-113cf36``.

    Raises:
        VersionError: It is none of these, or older than 1.16.
    """
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        raise VersionError(text)
    version = Version(int(match[1]), int(match[2]))
    if version < OLDEST_VERSION:
        raise VersionError(text)
    return version


class Span(NamedTuple):
    """
    Versions one after the other.

    Attributes:
        first: The oldest.
        last: The newest, also where nothing is known of it; never older than the first.
    """

    first: Version
    last: Version

    def __str__(self) -> str:
        """Write it as ``1.24..1.36``; a single version as that."""
        return f"{self.first}{BETWEEN}{self.last}" if self.first != self.last else str(self.first)

    @property
    def versions(self) -> tuple[Version, ...]:
        """At least one version to judge by, oldest first; those that are known."""
        first, last = known(self.first), known(self.last)
        return tuple(Version(first.major, minor) for minor in range(first.minor, last.minor + 1))


def parse_span(text: str) -> Span:
    """
    The versions that a text names.

    Args:
        text: ``1.33``, or ``1.24..1.36``; each as for ``parse_version``.

    Raises:
        VersionError: It names none, or the last version of a range is older than its first.
    """
    first, between, last = text.partition(BETWEEN)
    oldest = parse_version(first)
    newest = parse_version(last) if between else oldest
    if BETWEEN in last:
        raise VersionError(text)
    if newest < oldest:
        raise VersionError(text, f"ends before it begins: write {newest}{BETWEEN}{oldest}")
    return Span(oldest, newest)


def known(version: Version) -> Version:
    """The version to judge by: the newest that is known, for one that is newer."""
    return min(version, NEWEST_VERSION)
