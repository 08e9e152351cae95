"""
Namespaces that ``-n`` names: whether they exist, and which ones are meant.

``require_namespace`` checks the name, ``put_into_namespace`` completes objects. Neither reads a
cluster.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from webhook.config.messages import suggest_word
from webhook.errors import ConfigError
from webhook.manifests import Document
from webhook.policy.kinds import BUILT_IN_KINDS, DEFAULT_NAMESPACE
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import is_object

MOST_LISTED = 10  # namespaces in a message, if none is similar


def put_into_namespace(documents: Iterable[Document], namespace: str) -> Iterator[Document]:
    """Give a namespace to the objects that name none, as kubectl does; keep all others."""
    for document in documents:
        metadata: Any = document.value.get("metadata")
        row = BUILT_IN_KINDS.get(GroupKind(group_of(document.api_version), document.kind))
        is_namespaced = row is None or row.namespaced
        if document.namespace or not is_namespaced or not is_object(metadata):
            yield document
        else:
            placed = {**metadata, "namespace": namespace}
            yield replace(document, value={**document.value, "metadata": placed})


def require_namespace(namespace: str, known: Collection[str]) -> None:
    """
    Check that a namespace exists.

    Args:
        namespace: The value of ``-n``; empty for all.
        known: The namespaces that exist; empty if they could not be read, so that any may exist.

    Raises:
        ConfigError: It does not exist; the error suggests a similar one.
    """
    if not known or namespace in ("", DEFAULT_NAMESPACE, *known):
        return
    names = sorted(known)
    advice = suggest_word(namespace, names)
    if not advice.endswith("?") and len(names) > MOST_LISTED:
        advice = f"write one of {', '.join(names[:MOST_LISTED])}, ..."
    raise ConfigError(f"there is no namespace {namespace!r}: {advice}", "-n")
