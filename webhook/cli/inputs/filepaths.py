"""
Options that name manifests: ``-f``, positional files, and ``-k``.

``file_options`` is the entry point; the value of all three together is one tuple, ``filename``.
"""

from collections.abc import Sequence

import click
from click.core import ParameterSource

from webhook.cli.inputs.factpaths import INPUT_PATH
from webhook.cli.inputs.kustomize import KustomizeFolder
from webhook.manifests.files import STDIN

_FILES, _FOLDERS = "evenspread.files", "evenspread.kustomize"  # keys of ``Context.meta``
_STDIN_FILES = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_DEFAULTS = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def file_options(
    what: str, *, required: bool = True, positional: bool = True
) -> list[click.Parameter]:
    """
    Create the options.

    Args:
        what: What the files are; begins the help.
        required: Whether a file or a folder must be named.
        positional: Whether a word without an option is a file.
    """

    def join(
        ctx: click.Context, option: click.Parameter, written: tuple[str, ...]
    ) -> tuple[str, ...]:
        others: tuple[str, ...] = (*ctx.meta.get(_FILES, ()), *ctx.meta.get(_FOLDERS, ()))
        if others and ctx.get_parameter_source("filename") in _DEFAULTS:
            return others  # without the files of a project
        if required and not (written or others) and not ctx.resilient_parsing:
            raise click.MissingParameter(ctx=ctx, param=option)
        return (*map(_name_stdin, written), *others)

    parameters: list[click.Parameter] = []
    if positional:
        parameters.append(_positional_files())
    parameters.append(
        click.Option(
            ["-f", "--filename"],
            multiple=True,
            type=INPUT_PATH,
            metavar="PATH",
            callback=join,
            help=f"{what}: a file, a folder, or - for the standard input. May be repeated."
            + ("  [required]" if required else ""),
        )
    )
    return [*parameters, _kustomize_option()]


def _positional_files() -> click.Argument:
    return click.Argument(
        ["files"],
        nargs=-1,
        type=INPUT_PATH,
        metavar="[PATH]...",
        expose_value=False,
        is_eager=True,  # parsed before -f, which appends them
        callback=_keep_files,
    )


def _kustomize_option() -> click.Option:
    return click.Option(
        ["-k", "--kustomize"],
        multiple=True,
        type=INPUT_PATH,
        metavar="FOLDER",
        expose_value=False,
        is_eager=True,
        callback=_keep_folders,
        help="Folder to build with kustomize, or else kubectl kustomize, and to read in place of "
        "files. May be repeated.",
    )


def _keep_files(ctx: click.Context, _option: click.Parameter, written: Sequence[str]) -> None:
    ctx.meta[_FILES] = tuple(map(_name_stdin, written))


def _name_stdin(path: str) -> str:
    """Name the standard input ``-``: as a file, ``fix`` would write what a shell reads it from."""
    return STDIN if path in _STDIN_FILES else path


def _keep_folders(ctx: click.Context, _option: click.Parameter, written: Sequence[str]) -> None:
    ctx.meta[_FOLDERS] = tuple(map(KustomizeFolder, written))
