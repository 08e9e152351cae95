"""
The option ``--facts``: paths of manifests, dumps and snapshots that describe a cluster.

``facts_options`` is the entry point. The server uses it too, so this module must import nothing
that only commands need.
"""

import click

from webhook.cli.output import write_stderr

FACTS_FLAG = "--facts"
OLD_SPELLING = "--cluster"  # kubectl uses this flag for an entry of the kubeconfig

DEPRECATION = f"{OLD_SPELLING} is deprecated: write {FACTS_FLAG}, which means the same"

INPUT_PATH = click.Path(readable=False)  # that is: not checked by click
"""A path of inputs. One that cannot be read is a problem of this input, and not a wrong usage."""

_META_KEY = "evenspread.facts"


def facts_options(words: str) -> list[click.Option]:
    """
    Create ``--facts`` and its deprecated, hidden spelling; the value is one tuple of paths.

    Args:
        words: The help.
    """
    return [
        click.Option(
            [OLD_SPELLING],
            multiple=True,
            hidden=True,
            expose_value=False,
            is_eager=True,  # parsed before --facts, which appends its own values
            type=INPUT_PATH,
            callback=_keep_old_values,
        ),
        click.Option(
            [FACTS_FLAG],
            multiple=True,
            type=INPUT_PATH,
            metavar="PATH",
            callback=_join_values,
            help=f"{words} May be repeated.",
        ),
    ]


def _keep_old_values(
    ctx: click.Context, _option: click.Parameter, written: tuple[str, ...]
) -> None:
    if written:
        write_stderr(DEPRECATION)
    ctx.meta[_META_KEY] = written


def _join_values(
    ctx: click.Context, _option: click.Parameter, written: tuple[str, ...]
) -> tuple[str, ...]:
    old: tuple[str, ...] = ctx.meta.get(_META_KEY, ())
    return (*old, *written)
