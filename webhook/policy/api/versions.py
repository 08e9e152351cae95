"""
Kubernetes versions, major and minor, and ranges of them.

``parse_version`` and ``parse_version_range`` read what users and API servers write.

Source: KEP-895 for the first one; apimachinery pkg/version for how API servers write theirs.
"""

import re
from typing import NamedTuple

from webhook.errors import VersionError


class Version(NamedTuple):
    """A Kubernetes minor version; versions are ordered by release."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


OLDEST_VERSION = Version(1, 16)  # the first release with topologySpreadConstraints
NEWEST_VERSION = Version(1, 37)  # the newest release that conformance was tested with

BETWEEN = ".."  # separates the first and the last version of a range, which includes both

# v1.33.5-eks-113cf36, 1.24+
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\+|[-.].*)?", re.ASCII)


def parse_version(text: str) -> Version:
    """
    Parse the minor version in a text as users and API servers write it.

    Args:
        text: ``1.33``, ``v1.33.5``, ``1.24+`` or a vendor's ``v1.33.5-eks-113cf36``.

    Raises:
        VersionError: The text is none of these, or the version is older than 1.16.
    """
    match = _VERSION.fullmatch(text.strip())
    version = Version(int(match[1]), int(match[2])) if match else None
    if version is None or version < OLDEST_VERSION:
        raise VersionError(text)
    return version


class VersionRange(NamedTuple):
    """A range of consecutive versions, known or not; the last is never older than the first."""

    first: Version
    last: Version

    def __str__(self) -> str:
        """Format the range as ``1.24..1.36``; a single version alone."""
        return f"{self.first}{BETWEEN}{self.last}" if self.first != self.last else str(self.first)

    @property
    def versions(self) -> tuple[Version, ...]:
        """The known versions of the range, oldest first; at least one."""
        first, last = limit_to_known(self.first), limit_to_known(self.last)
        return tuple(Version(first.major, minor) for minor in range(first.minor, last.minor + 1))


def parse_version_range(text: str) -> VersionRange:
    """
    Parse a version, or a range of versions such as ``1.24..1.36``.

    Raises:
        VersionError: The text is no version, or the last version is older than the first.
    """
    first, between, last = text.partition(BETWEEN)
    oldest = parse_version(first)
    newest = parse_version(last) if between else oldest
    if BETWEEN in last:
        raise VersionError(text)
    if newest < oldest:
        raise VersionError(text, f"ends before it begins: write {newest}{BETWEEN}{oldest}")
    return VersionRange(oldest, newest)


def limit_to_known(version: Version) -> Version:
    """Limit a version to the newest known one."""
    return min(version, NEWEST_VERSION)
