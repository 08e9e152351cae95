"""
Large reviews: reduced to the members that rules read, and limited in their number.

``reduce_review`` is the entry point; reviews of usual size never come here. kube-apiserver writes
``<`` as six bytes, so that the review of an update of two stored objects may have 18 MB. A body of
8 MiB may hold two million members of three bytes, each of which takes up to a hundred when decoded.
Therefore only the parts of a large body that some rule reads are kept, as JSON, and their members
are counted before they are decoded.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import GenericAlias
from typing import Any

import msgspec
from msgspec.structs import fields

from webhook.policy.advice.decode import NetworkedSpec
from webhook.policy.advice.podcount import TemplateHolder
from webhook.policy.advice.subject import SubjectSpec
from webhook.policy.model import ObjectMeta
from webhook.policy.paths import LIST_NAME, is_array
from webhook.policy.places import ENTRIES, TemplatePlaces, list_patterns

LARGE = 1024 * 1024
"""Larger bodies, in bytes, are reduced; decoding a smaller one takes 25 MiB at most, measured."""

MOST_MEMBERS = 400_000
"""
The most members, values and objects that are decoded.

An object that etcd stores (1.5 MiB by default) has no more. As many labels hold the lock of the
interpreter for 70 ms while they are decoded, and 600 000 members take 57 MiB, both measured.
"""

LONGEST_PART = 8 * 1024 * 1024
"""
Bytes of one part that is read. A longer list of constraints is denied; any other part counts as
absent.

Labels and constraints of an object that etcd stores are shorter, and kube-apiserver refuses more
than 256 KiB of annotations. The containers, of which only ports are read, may be longer.
"""

_NULL = msgspec.Raw(b"null")


class TooManyMembersError(msgspec.ValidationError):
    """The parts of a review that rules read have more than ``MOST_MEMBERS`` members."""


class _Request(msgspec.Struct, rename="camel"):
    uid: msgspec.Raw = _NULL
    kind: msgspec.Raw = _NULL
    operation: msgspec.Raw = _NULL
    namespace: msgspec.Raw = _NULL
    name: msgspec.Raw = _NULL
    sub_resource: msgspec.Raw = _NULL
    dry_run: msgspec.Raw = _NULL
    object: msgspec.Raw = _NULL
    old_object: msgspec.Raw = _NULL


class _Review(msgspec.Struct, rename="camel"):
    api_version: msgspec.Raw = _NULL
    kind: msgspec.Raw = _NULL
    request: _Request | None = None


_decode = msgspec.json.Decoder(_Review).decode
_encode = msgspec.json.Encoder().encode


def reduce_review(body: bytes | bytearray, places: TemplatePlaces) -> bytes:
    """
    Remove the members of a review that no rule reads.

    Args:
        places: Where its object holds pod templates.

    Returns:
        A review with the same verdict.

    Raises:
        TooManyMembersError: The rest has more than ``MOST_MEMBERS``.
        msgspec.ValidationError: A part that must be an object is none.
        RecursionError: The review is nested too deeply.
    """
    review = _decode(body)
    if review.request is not None:
        keep = _object_parts(places)
        review.request.object = _reduced(review.request.object, keep)
        review.request.old_object = _reduced(review.request.old_object, keep)
    reduced = _encode(review)
    if members_in(reduced) > MOST_MEMBERS:
        raise TooManyMembersError(f"what is read of it has more than {MOST_MEMBERS} members")
    return reduced


def members_in(text: bytes | bytearray) -> int:
    """Estimate, from above, how many values a decoder builds from a JSON text."""
    return text.count(b",") + text.count(b":") + text.count(b"{")


def _reduced(obj: msgspec.Raw, keep: msgspec.json.Decoder[Any]) -> msgspec.Raw:
    parts = keep.decode(obj)
    _drop_long(parts)
    return msgspec.Raw(_encode(parts))


def _drop_long(parts: Any) -> None:
    if is_array(parts):
        for entry in parts:
            _drop_long(entry)
    if not isinstance(parts, msgspec.Struct):
        return
    for name, written in zip(parts.__struct_fields__, parts.__struct_encode_fields__, strict=True):
        part = getattr(parts, name)
        if not isinstance(part, msgspec.Raw):
            _drop_long(part)
        elif memoryview(part).nbytes > LONGEST_PART:
            if written == LIST_NAME:
                raise TooManyMembersError(f"{LIST_NAME} has more than {LONGEST_PART} bytes")
            setattr(parts, name, _NULL)


@lru_cache  # one entry for each kind with a pod template
def _object_parts(places: TemplatePlaces) -> msgspec.json.Decoder[Any]:
    """Build the decoder that keeps, as JSON, the parts of an object that rules read."""
    tree: dict[str, Any] = {}
    for path in list_patterns(places):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
    return msgspec.json.Decoder(_build_type(tree, {"metadata": _parts(_names(ObjectMeta))}))


def _build_type(tree: Mapping[str, Any], outside: Mapping[str, Any]) -> Any:
    """
    Build the type of what is kept of an object.

    Args:
        tree: The members on the paths of templates, and the members in them; empty for a template.
        outside: Other members of the object that are kept.
    """
    if not tree:
        metadata = _parts(_names(ObjectMeta))
        spec = _parts((*_names(SubjectSpec), *_names(NetworkedSpec)))
        return _parts((), {"metadata": metadata, "spec": spec})
    if ENTRIES in tree:
        return GenericAlias(list, (_build_type(tree[ENTRIES], {}),)) | None
    inner = {name: _build_type(members, {}) for name, members in tree.items() if name != LIST_NAME}
    bare = (LIST_NAME,) if LIST_NAME in tree else ()
    return _parts((*_names(TemplateHolder), *bare), {**outside, **inner})


def _names(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(field.encode_name for field in fields(struct))


def _parts(leaves: Iterable[str], inner: Mapping[str, Any] | None = None) -> Any:
    """Build the type of an object with these members, null if they are absent."""
    kinds = {**dict.fromkeys(leaves, msgspec.Raw), **(inner or {})}
    members = [
        (f"m{number}", kind, _NULL if kind is msgspec.Raw else None)
        for number, kind in enumerate(kinds.values())
    ]
    names = {f"m{number}": name for number, name in enumerate(kinds)}
    return msgspec.defstruct("Parts", members, rename=names) | None
