"""
The options ``--project``, ``--no-project`` and ``--exclude``: the settings of a repository.

``project_options`` is the entry point. An option takes its value from the flag, else from its
environment variable, else from the project file.
"""

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import click
from msgspec.structs import replace

from webhook.cli.output import write_stderr
from webhook.config.project import DEFAULT_EXCLUDES, PROJECT_FILE, Exemption, Project, find_project
from webhook.errors import ConfigError
from webhook.policy.api.versions import parse_version_range

_FLAG, _NO_FLAG = "--project", "--no-project"
_BOTH = f"cannot be given together with {_NO_FLAG}"
_META_KEY, _EXCLUDE_KEY = "evenspread.no_project", "evenspread.exclude"

_PROJECT = "project"  # name of the parameter

_NAMES = " and ".join((", ".join(DEFAULT_EXCLUDES[:-1]), DEFAULT_EXCLUDES[-1]))

PATHS, FACTS = "filename", "facts"  # names of parameters
CONFIG, SCHEDULER_CONFIG, KUBE_VERSION = "config", "scheduler_config", "kube_version"


def project_options(
    effect: str, *, paths: bool = True, versions: bool = False
) -> list[click.Option]:
    """
    Create the options; the value of ``project`` is the ``Project``, or None without settings.

    Args:
        effect: What the command takes from the project file; ends the help.
        paths: Whether the command works on the files of the project.
        versions: Whether the command accepts a range of Kubernetes versions.
    """
    load = partial(_load, paths=paths, versions=versions)
    return [
        click.Option(
            ["--exclude"],
            multiple=True,
            metavar="PATTERN",
            is_eager=True,  # --project uses it
            expose_value=False,
            callback=_keep_excluded,
            help="Leave out what matches in folders: a name, or a path relative to the project "
            "file, or to the working directory without one. May be repeated.",
        ),
        click.Option(
            [_NO_FLAG],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_keep_flag,
            help="Read no project file.",
        ),
        click.Option(
            [_FLAG],
            type=click.Path(),
            metavar="PATH",
            default="",
            is_eager=True,  # its values are the defaults of the other options
            callback=load,
            help=f"Project file. Default: {PROJECT_FILE} in the working directory, or above it up "
            f"to the root of the repository. For a folder, {PROJECT_FILE} in it or above it, or "
            f"else the whole folder without {_NAMES}. {effect}",
        ),
    ]


def list_defaults(project: Project, *, versions: bool) -> dict[str, str | tuple[str, ...]]:
    """List the defaults of parameters that a project sets; of a range, its newest version."""
    version = project.kube_version
    if version and not versions:
        version = str(parse_version_range(version).last)
    defaults: dict[str, str | tuple[str, ...]] = {
        PATHS: project.paths,
        FACTS: project.facts,
        CONFIG: project.config,
        SCHEDULER_CONFIG: project.scheduler_config,
        KUBE_VERSION: version,
    }
    return {name: value for name, value in defaults.items() if value}


def report_unused(exemptions: Iterable[Exemption]) -> None:
    """Write to stderr which exemptions of a project have no effect."""
    for exemption in exemptions:
        write_stderr(f"warning: {exemption.where}: exempts from no finding: remove it")


def _load(
    ctx: click.Context, _option: click.Parameter, written: str, *, paths: bool, versions: bool
) -> Project | None:
    """Load the project, and make its values the defaults of the other options."""
    if ctx.resilient_parsing:
        return None
    excluded: tuple[str, ...] = ctx.meta.get(_EXCLUDE_KEY, ())
    if ctx.meta.get(_META_KEY):
        if written:
            raise ConfigError(_BOTH, _FLAG)
        return _exclude(None, excluded)
    ctx.meta[_META_KEY] = False  # too late for --no-project
    project = _exclude(_read(written), excluded)
    if project is not None:
        defaults = list_defaults(project, versions=versions)
        if not paths:
            defaults.pop(PATHS, None)
        ctx.default_map = dict(defaults)
    return project


def _keep_flag(ctx: click.Context, _option: click.Parameter, written: bool) -> None:
    if written and _META_KEY in ctx.meta:
        raise ConfigError(_BOTH, _FLAG)
    ctx.meta[_META_KEY] = written


def _keep_excluded(ctx: click.Context, _option: click.Parameter, written: tuple[str, ...]) -> None:
    ctx.meta[_EXCLUDE_KEY] = written
    if _PROJECT in ctx.params:  # --project precedes this option in the command line
        ctx.params[_PROJECT] = _exclude(ctx.params[_PROJECT], written)


def _exclude(project: Project | None, patterns: tuple[str, ...]) -> Project | None:
    """Replace the patterns of a project; without one, they apply in the working directory."""
    if not patterns:
        return project
    return replace(project or Project(file=PROJECT_FILE), exclude=patterns)


def _read(written: str) -> Project | None:
    """Read the project file of ``--project``; a folder without one is a project by default."""
    is_folder = Path(written).is_dir()  # also the empty path
    file = _find(Path(written)) if is_folder else written
    if file:
        from webhook.config.projectfile import load_project  # noqa: PLC0415  # no help needs pydantic

        return load_project(file)
    return Project(file=str(Path(written) / PROJECT_FILE), paths=(written,)) if written else None


def _find(folder: Path) -> str:
    """Find the project file as a user in the working directory names it; empty without one."""
    found = find_project(Path.cwd() / folder)
    return "" if found is None else os.path.relpath(found)
