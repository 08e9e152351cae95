"""
Files and folders that are left out when a folder is read.

``PathFilter`` is the entry point; it decides by patterns of names and paths, and by where a path
leads, see ``is_inside``. What a user names is never left out, only what is found in it.
"""

import os
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

_SEPARATOR = "/"


class PathFilter(msgspec.Struct, frozen=True):
    """
    Conditions under which a path is left out.

    Attributes:
        root: The absolute folder to which patterns of paths are relative.
        patterns: With the wildcards of a shell; ``*`` also matches the separator. A pattern without
            a separator matches a name at any depth, another one a path below ``root``.
        confined: Whether to leave out what leads out of ``root``, as a symbolic link may.
    """

    root: Path
    patterns: tuple[str, ...] = ()
    confined: bool = False

    def excludes(self, path: Path) -> bool:
        """Whether to leave out a path that was found in a folder."""
        if self.confined and not is_inside(path, self.root):
            return True
        if not self.patterns:
            return False
        below = os.path.relpath(path, self.root)
        return any(
            _matches(pattern.rstrip(_SEPARATOR), path.name, below) for pattern in self.patterns
        )


NO_FILTER = PathFilter(Path())
"""Leaves out nothing."""


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path stays inside a folder, after symbolic links are followed; a loop does not."""
    try:
        followed = path.resolve()
        # Python 3.13 and later leave a link that is part of a loop as it is, without an error.
        return not followed.is_symlink() and followed.is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a null byte
        return False


def _matches(pattern: str, name: str, below: str) -> bool:
    return fnmatchcase(below if _SEPARATOR in pattern else name, pattern)
