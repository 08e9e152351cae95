"""The Secret by which all replicas agree: read it, change it if nobody else has, ask of it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from certs.api import ApiObject, ObjectClient
from certs.errors import PairError, StoreError
from certs.source import NoticeSubject
from certs.trust import Trust

ROTATE_ANNOTATIONS = {
    NoticeSubject.LEAF: "evenspread.io/rotate-leaf",
    NoticeSubject.CA: "evenspread.io/rotate-ca",
}
"""
Ask for an early rotation: of what was made before the time (RFC 3339) that the value says.

A time needs no removal: once it is fulfilled it says nothing any more, and to ask twice is to ask
once.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTrust:
    """
    The Secret as it was read.

    Attributes:
        trust: What it holds; nothing, if that cannot be used.
        problem: Why it cannot be used; empty if all is well.
        asked: When rotations were asked for.
        resource_version: What a write of it tests.
        server_now: The API server's clock when it answered; None if it did not say.
    """

    trust: Trust
    problem: str
    requested: Mapping[NoticeSubject, datetime]
    resource_version: str
    server_now: datetime | None


class SecretStore:
    """
    One Secret, shipped empty with the manifests, of type Opaque.

    It is never created: the role that would be needed allows to create any Secret.
    """

    def __init__(self, client: ObjectClient, namespace: str, name: str) -> None:
        """Remember where it is."""
        self._object = ApiObject(
            client=client,
            path=f"/api/v1/namespaces/{namespace}/secrets/{name}",
            title=f"Secret {namespace}/{name}",
        )

    @property
    def title(self) -> str:
        """What people call it."""
        return self._object.title

    async def load(self) -> StoredTrust:
        """
        Read it. What does not fit together counts as nothing: a new authority is made then.

        Raises:
            AbsentError: It does not exist; the manifests have to be applied again.
            StoreError: There was no answer.
        """
        reply = await self._object.read()
        metadata = reply.content.get("metadata", {})
        try:
            trust, problem = self._parse(reply.content.get("data") or {}), ""
        except PairError as error:
            trust, problem = Trust(), str(error)
        return StoredTrust(
            trust=trust,
            problem=problem,
            requested=_asked(metadata.get("annotations")),
            resource_version=reply.resource_version,
            server_now=reply.at,
        )

    async def save(self, trust: Trust, *, instead_of: StoredTrust) -> None:
        """
        Write it, if it still is as it was read.

        Raises:
            ConflictError: It is not; nothing was written.
            StoreError: There was no answer; it may be written or not.
        """
        data = {key: base64.b64encode(one).decode() for key, one in trust.render().items()}
        # "add" replaces what is there, and unlike "replace" needs nothing to be there.
        add = {"op": "add", "path": "/data", "value": data}
        await self._object.patch([add], resource_version=instead_of.resource_version)

    async def ask(self, subject: NoticeSubject, now: datetime) -> None:
        """
        Ask every replica for an early rotation.

        Raises:
            StoreError: There was no answer; ask again.
        """
        await self._object.annotate(
            {ROTATE_ANNOTATIONS[subject]: now.isoformat(timespec="seconds")}
        )

    def _parse(self, data: Mapping[str, Any]) -> Trust:
        try:
            entries = {key: base64.b64decode(one, validate=True) for key, one in data.items()}
        except (AttributeError, TypeError, ValueError):
            raise StoreError(self.title, "the API server's answer is no Secret") from None
        return Trust.parse(entries, where=self.title)


def _asked(annotations: Any) -> dict[NoticeSubject, datetime]:
    try:
        wishes = {subject: annotations.get(name) for subject, name in ROTATE_ANNOTATIONS.items()}
    except AttributeError:  # no object
        return {}
    moments = {subject: _read_time(wish) for subject, wish in wishes.items()}
    return {subject: moment for subject, moment in moments.items() if moment is not None}


def _read_time(text: object) -> datetime | None:
    """Read a wish; one that cannot be read is none, since there is nobody to tell."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else None
