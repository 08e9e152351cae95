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
from webhook.policy.paths import find_value, is_array, is_object

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
    missing = f"context {context!r}" if context else "current context"
    if not contexts:
        advice = "it has none at all; write one with kubectl config set-context"
        return SourceError(files, f"has no {missing}: {advice}")
    if context not in contexts:
        advice = f"choose one of {', '.join(contexts)}{'' if context else ', with --context'}"
        return SourceError(files, f"has no {missing}: {advice}")
    return None


def list_contexts(files: str) -> dict[str, str]:
    """
    List the contexts in all files: name -> namespace; the first one of equal names counts.

    Raises:
        SourceError: A file cannot be read.
    """
    found: dict[str, str] = {}
    for document in _read_documents(files):
        for entry in _entries(document):
            namespace = find_value(entry, ("context", "namespace"))
            text = namespace if isinstance(namespace, str) else ""
            found.setdefault(str(entry.get("name", "")), text)
    return found


def find_namespace(files: str, context: str) -> str:
    """
    Return the namespace of a context; empty if it names none.

    As for kubectl, the first file that sets a value counts.

    Args:
        context: Empty for the current context.

    Raises:
        SourceError: A file cannot be read.
    """
    documents = _read_documents(files)
    for document in documents:
        current: Any = document.value.get("current-context")
        context = context or (current if isinstance(current, str) else "")
    for document in documents:
        for entry in _entries(document):
            if entry.get("name") == context:
                found = find_value(entry, ("context", "namespace"))
                return found if isinstance(found, str) else ""
    return ""


def _read_documents(files: str) -> list[Document]:
    return [
        document
        for path in _existing(files)
        for document in parse(read_text(path), path)
        if isinstance(document, Document) and is_object(document.value)
    ]


def _existing(files: str) -> Iterator[str]:
    for path in files.split(os.pathsep):
        expanded = Path(path).expanduser()
        if path and expanded.exists():
            yield str(expanded)


def _contexts(document: Document) -> list[str]:
    return [str(entry["name"]) for entry in _entries(document) if "name" in entry]


def _entries(document: Document) -> list[dict[str, Any]]:
    listed: Any = document.value.get("contexts")
    return [entry for entry in listed if is_object(entry)] if is_array(listed) else []
