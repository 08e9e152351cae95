"""
Find the kubeconfig files, and explain why they cannot be used.

kubernetes_asyncio reads them; its errors name what the parser expected and not what to write. After
a failure ``kubeconfig_error`` reads the files again, only to find a clearer message.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from webhook.errors import SourceError
from webhook.manifests import Document, parse
from webhook.manifests.files import read_text
from webhook.policy.paths import is_array, is_object

KUBECONFIG_VARIABLE = "KUBECONFIG"
DEFAULT_KUBECONFIG = "~/.kube/config"


def find_kubeconfig(kubeconfig: str, environ: Mapping[str, str]) -> str:
    """
    Return the files to read: the requested ones, otherwise those that kubectl would read.

    Raises:
        SourceError: None of them exists.
    """
    files = kubeconfig or environ.get(KUBECONFIG_VARIABLE) or DEFAULT_KUBECONFIG
    if not list(_existing(files)):
        problem = "does not exist: name a kubeconfig with --kubeconfig, or in"
        raise SourceError(files, f"{problem} {KUBECONFIG_VARIABLE}")
    return files


def kubeconfig_error(files: str, context: str) -> SourceError | None:
    """Explain why files could not be used; None if their context exists."""
    contexts: list[str] = []
    for path in _existing(files):
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
        return SourceError(files, f"has no current context: {known}, with --context")
    if context not in contexts:
        return SourceError(files, f"has no context {context!r}: {known}")
    return None


def _existing(files: str) -> Iterator[str]:
    for path in files.split(os.pathsep):
        expanded = Path(path).expanduser()
        if path and expanded.exists():
            yield str(expanded)


def _contexts(document: Document) -> list[str]:
    listed: Any = document.value.get("contexts")
    entries = listed if is_array(listed) else []
    return [str(entry["name"]) for entry in entries if is_object(entry) and "name" in entry]
