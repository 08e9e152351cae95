"""
Which kubeconfig is read, and what is wrong with one that cannot be used.

It is the library that reads it; its errors name what it expected and not what to write. So the file
is looked at once more when it has failed, for a sentence; nothing else ever comes of that.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from webhook.errors import SourceError
from webhook.manifests import Document, is_array, is_object, parse, read_text

KUBECONFIG_VARIABLE = "KUBECONFIG"
DEFAULT_KUBECONFIG = "~/.kube/config"


def find_kubeconfig(kubeconfig: str, environ: Mapping[str, str]) -> str:
    """
    Find out which files there are to read: those that are asked for, or as kubectl does.

    Args:
        kubeconfig: One or several, as in ``KUBECONFIG``; empty if none is asked for.

    Raises:
        SourceError: None of them exists.
    """
    named = kubeconfig or environ.get(KUBECONFIG_VARIABLE) or DEFAULT_KUBECONFIG
    if not list(_existing(named)):
        problem = (
            f"does not exist: name a kubeconfig with --kubeconfig, or in {KUBECONFIG_VARIABLE}"
        )
        raise SourceError(named, problem)
    return named


def kubeconfig_error(named: str, context: str) -> SourceError | None:
    """
    Say what is wrong with files that could not be used; None if nothing can be seen.

    Args:
        named: As ``find_kubeconfig`` gives them.
        context: That is asked for; empty: the current one.
    """
    contexts: list[str] = []
    for path in _existing(named):
        try:
            document = next(iter(parse(read_text(path), path)), None)
        except SourceError as error:
            return error
        if isinstance(document, SourceError):
            return document
        if document is None or not is_object(document.value):
            return SourceError(path, "is no kubeconfig: write one with kubectl config set-context")
        contexts += _contexts(document)
        current: Any = document.value.get("current-context")
        context = context or (current if isinstance(current, str) else "")
    known = f"choose one of {', '.join(contexts)}" if contexts else "it has none at all"
    if not context:
        return SourceError(named, f"has no current context: {known}, with --context")
    if context not in contexts:
        return SourceError(named, f"has no context {context!r}: {known}")
    return None


def _existing(named: str) -> Iterator[str]:
    for path in named.split(os.pathsep):
        expanded = Path(path).expanduser()
        if path and expanded.exists():
            yield str(expanded)


def _contexts(document: Document) -> list[str]:
    listed: Any = document.value.get("contexts")
    entries = listed if is_array(listed) else []
    return [str(each["name"]) for each in entries if is_object(each) and "name" in each]
