"""
An object with which one tenant would break a replica, and the review that carries it.

``attacks`` lists them. An ``Attack`` replaces the value at one path of an ordinary object.
Bodies are text, made when they are sent: no encoder of Python writes what is nested 9 000 levels
deep.
"""

import json
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from tests.controlplane.api import Json
from tests.e2e.tenantkinds import TENANT_KINDS, api_version, ordinary, template_path
from webhook.server.http.limits import Limits

MIB: Final = 1024 * 1024

MOST_REQUEST: Final = 3 * MIB
"""Bytes of a request that kube-apiserver takes."""

MOST_STORED: Final = 1_400_000
"""Bytes of an object that etcd takes, with room for what the API server adds (limit 1.5 MiB)."""

MOST_REVIEW: Final = Limits().body
"""Bytes of a review that a replica takes."""

KINDS: Final = tuple(TENANT_KINDS)
"""What a user of a namespace may write that is watched or hooked."""

Text: TypeAlias = Callable[[], str]
"""Writes JSON; given the kind's apiVersion only where it stands in ``{version}``."""


class Attack(NamedTuple):
    """
    One member of an object.

    Attributes:
        path: Members from the object, or behind ``pod/`` from its pod template, with ``/`` between.
        text: What stands there.
        kinds: Those it is about.
    """

    path: str
    text: Text
    kinds: tuple[str, ...] = KINDS

    def body(self, kind: str, namespace: str, name: str) -> bytes:
        """Write an object that is ordinary but for the member."""
        return self.into(kind, ordinary(kind, namespace, name))

    def into(self, kind: str, obj: Json) -> bytes:
        """Write an object with the member; the object itself is changed too."""
        *way, last = self._members(kind)
        inner = obj
        for member in way:
            inner = inner.setdefault(member, {})
        inner[last] = "@"
        text = self.text().replace("{version}", api_version(kind))
        return json.dumps(obj).replace('"@"', text, 1).encode("utf-8", "surrogatepass")

    def _members(self, kind: str) -> list[str]:
        members = self.path.split("/")
        if members[0] != "pod":
            return members
        return [*template_path(kind), *members[1:]]


def review(body: bytes, kind: str, namespace: str, *, old: bytes = b"") -> bytes:
    """The AdmissionReview of a create, or with an old object of an update."""
    group, _, version = api_version(kind).rpartition("/")
    request = {
        "uid": "hostile",
        "kind": {"group": group, "version": version, "kind": TENANT_KINDS[kind].kind},
        "operation": "UPDATE" if old else "CREATE",
        "namespace": namespace,
        "object": "@new",
        "oldObject": "@old",
    }
    head = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    written = json.dumps(head).encode()
    before, _, rest = written.partition(b'"@new"')
    between, _, after = rest.partition(b'"@old"')
    return b"".join((before, body, between, old or b"null", after))


def nested(depth: int, opening: str = '{"f:a":', closing: str = "}", core: str = "{}") -> Text:
    """JSON so many levels deep."""
    return lambda: opening * depth + core + closing * depth


def managed(depth: int) -> Text:
    """Managed fields as an API server stores them."""
    head = '[{"manager":"m","operation":"Update","apiVersion":"{version}","fieldsType":"FieldsV1"'
    return lambda: f'{head},"fieldsV1":{nested(depth)()}}}]'


def repeated(size: int, item: str = "{}") -> Text:
    """A list of one item, of so many bytes."""
    return lambda: "[" + ",".join([item] * (size // (len(item) + 1))) + "]"


def numbered(size: int, item: str) -> Text:
    """A list of items that differ where ``#`` stands, of so many bytes."""
    return lambda: "[" + ",".join(_numbered(size, item)) + "]"


def pairs(size: int, value: str = "", prefix: str = "") -> Text:
    """A map of strings, of so many bytes."""
    return lambda: "{" + ",".join(_numbered(size, f'"{prefix}#":"{value}"')) + "}"


def string(size: int, character: str) -> Text:
    """A string of one character (as JSON writes it), of so many bytes in UTF-8."""
    return lambda: f'"{character * (size // len(character.encode()))}"'


def _numbered(size: int, item: str) -> list[str]:
    count = size // (len(item) + 5)
    return [item.replace("#", f"{number:x}") for number in range(count)]
