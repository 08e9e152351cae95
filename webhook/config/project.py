"""
The settings of the commands for one repository, and its project file.

``find_project`` finds the file; ``projectfile`` reads it into a ``Project``. A repository may be
hostile: no path in its project file may lead out of the folder of the file, also not by symbolic
links.
"""

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from webhook.config.filetext import read_text
from webhook.errors import ConfigError
from webhook.manifests.pathfilter import PathFilter, is_inside
from webhook.policy.model import LabelSelector
from webhook.policy.rule_entry import Action
from webhook.policy.selectors import matches

PROJECT_FILE = ".evenspread.yaml"

_REPOSITORY = ".git"  # a folder, or a file in a worktree

DEFAULT_EXCLUDES = (".git", "node_modules", "vendor")
"""Names of folders that are not read, unless the project file lists others."""

OUTSIDE = "leads out of the folder of the project file: write a relative path to what is inside"
SPECIAL = "is neither a file nor a folder: leave it out"  # reading a pipe would block


class Exemption(msgspec.Struct, frozen=True, kw_only=True):
    """
    Objects that a project exempts from rules.

    Attributes:
        where: File, line and path of the exemption.
        rules: Ids.
        namespaces: Patterns, one of which must match; empty for any namespace.
        kinds: Likewise.
        names: Likewise.
        selector: Of the labels of the object; None for any labels.
    """

    where: str
    rules: frozenset[str]
    reason: str
    namespaces: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    selector: LabelSelector | None = None

    def covers(self, kind: str, namespace: str, name: str, labels: Mapping[str, str]) -> bool:
        """Whether an object is exempt."""
        return (
            _matches_any(namespace or "default", self.namespaces)
            and _matches_any(kind, self.kinds)
            and _matches_any(name, self.names)
            and (self.selector is None or matches(self.selector, labels))
        )


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """
    The settings of a project file; an empty value is absent.

    Attributes:
        file: Path of the project file.
        paths: Files and folders, relative to the working directory.
        exclude: Patterns of names, and of paths relative to the folder of the project file.
        actions: Policy rule -> its action in this project.
        facts: As ``paths``.
        kube_version: A version or a range.
        config: As ``paths``.
        scheduler_config: As ``paths``.
    """

    file: str
    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDES
    actions: Mapping[str, Action] = {}
    exemptions: tuple[Exemption, ...] = ()
    facts: tuple[str, ...] = ()
    kube_version: str = ""
    config: str = ""
    scheduler_config: str = ""

    @property
    def folder(self) -> Path:
        """The folder of the project file, which no path leaves."""
        return Path(os.path.abspath(self.file)).parent  # noqa: PTH100 - keeps symbolic links

    @property
    def root(self) -> str:
        """The folder of the project file, relative to the working directory."""
        return os.path.relpath(self.folder)

    def path_filter(self, paths: Iterable[str]) -> PathFilter:
        """
        Build the filter for what is found in folders.

        Args:
            paths: What is read; those of the project must not lead out of it by links. If there are
                none, the folder of the project itself is read.
        """
        own = {*self.paths, *self.facts}
        return PathFilter(self.folder, self.exclude, confined=own.issuperset(paths))

    def drop_own_paths(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        """Return paths, or none if they are those of the project and not of an option."""
        return () if paths in (self.paths, self.facts) else paths

    def read(self, file: str) -> str:
        """
        Read a configuration file that the project names, directly or in another such file.

        Raises:
            ConfigError: It is outside of the folder, or cannot be read.
        """
        if not is_inside(Path(file), self.folder):
            raise ConfigError(f"{file!r} {OUTSIDE}")
        if is_special(Path(file)):
            raise ConfigError(f"{file!r} {SPECIAL}")
        return read_text(file)


def is_special(path: Path) -> bool:
    """Whether a path is neither a file nor a folder, such as a pipe."""
    return path.exists() and not (path.is_file() or path.is_dir())


def find_project(start: Path) -> Path | None:
    """
    Find the project file, from a folder upwards to the root of its repository.

    Without a repository, only the folder itself is searched.

    Raises:
        ConfigError: The file found is a link that leads out of its folder.
    """
    folders = (start, *start.parents)
    root = next((folder for folder in folders if os.path.lexists(folder / _REPOSITORY)), start)
    for folder in folders[: folders.index(root) + 1]:
        file = folder / PROJECT_FILE
        if file.is_file():
            if not is_inside(file, folder):
                raise ConfigError("is a link that leads out of its folder", str(file))
            return file
    return None


def _matches_any(text: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(text, pattern) for pattern in patterns)
