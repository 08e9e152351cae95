"""The Secret that all replicas share: read it, write it if unchanged, request a rotation."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from certs.api import ApiObject, ObjectClient
from certs.errors import PairError, StoreError
from certs.trust import Trust, read_time


class RotationRequest(StrEnum):
    """
    Annotations that request an early rotation of everything issued before their value (RFC 3339).

    An annotation needs no removal: after the rotation it has no effect, and a second request for
    the same time changes nothing.
    """

    LEAF = "evenspread.io/rotate-leaf"
    CA = "evenspread.io/rotate-ca"
    REVOKE = "evenspread.io/revoke"


def request_time(now: datetime) -> datetime:
    """
    Return the time of a request that includes every certificate issued until now.

    Certificates have whole seconds: one of this second and a request for it have the same time,
    and the request would not count. The next second has not come, so that the request waits for it.
    """
    return now.replace(microsecond=0) + timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTrust:
    """
    The Secret as read.

    Attributes:
        trust: Its contents; empty if they are unusable.
        problem: Which contents or requests are unusable, and why; empty if all are usable.
        requested: The times of the valid rotation requests.
        resource_version: The version that a write requires.
        server_now: The API server's clock at its reply; None if the reply has no date.
    """

    trust: Trust
    problem: str
    requested: Mapping[RotationRequest, datetime]
    resource_version: str
    server_now: datetime | None


class SecretStore:
    """
    One Secret of type Opaque, which the manifests create empty.

    This class never creates it: RBAC cannot limit ``create`` to one Secret name.

    Attributes:
        title: The name of the Secret in messages.
    """

    def __init__(self, client: ObjectClient, namespace: str, name: str) -> None:
        """Store the location of the Secret."""
        self.title = f"Secret {namespace}/{name}"
        path = f"/api/v1/namespaces/{namespace}/secrets/{name}"
        self._object = ApiObject(client=client, path=path, title=self.title)

    async def load(self) -> StoredTrust:
        """
        Read the Secret. Inconsistent contents count as empty: a new authority follows.

        Raises:
            AbsentError: The Secret does not exist; apply the manifests again.
            StoreError: The API server did not answer.
        """
        state = await self._object.read()
        metadata = state.content.get("metadata", {})
        requested, problem = self._read_requests(metadata.get("annotations"))
        try:
            trust = self._parse(state.content.get("data") or {})
        except PairError as error:
            trust, problem = Trust(), str(error)
        return StoredTrust(
            trust=trust,
            problem=problem,
            requested=requested,
            resource_version=state.resource_version,
            server_now=state.at,
        )

    async def save(self, trust: Trust, *, instead_of: StoredTrust) -> None:
        """
        Write the Secret if it has not changed since it was read.

        Raises:
            ConflictError: It has changed; nothing was written.
            StoreError: The API server did not answer; the write may have succeeded.
        """
        data = {key: base64.b64encode(value).decode() for key, value in trust.render().items()}
        # "add" replaces an existing value and, unlike "replace", works without one.
        add = {"op": "add", "path": "/data", "value": data}
        await self._object.patch([add], resource_version=instead_of.resource_version)

    async def request_rotation(self, request: RotationRequest, at: datetime) -> None:
        """
        Request from every replica that it replaces what was issued before a time.

        Raises:
            StoreError: The API server did not answer; repeat the request.
        """
        await self._object.annotate({request: at.isoformat(timespec="seconds")})

    def _read_requests(self, annotations: Any) -> tuple[dict[RotationRequest, datetime], str]:
        """Read the requested times, and explain the last invalid one."""
        requested: dict[RotationRequest, datetime] = {}
        problem = ""
        for request in RotationRequest:
            text = ""
            try:
                text = str(annotations.get(request, ""))
                # Validities have whole seconds, so that fractions would never be reached.
                requested[request] = read_time(text).replace(microsecond=0)
            except (AttributeError, ValueError):  # no annotations, or no time
                if text:
                    problem = (
                        f"{self.title}: annotation {request}: {text[:40]!r} is no time; write one "
                        "such as 2030-01-01T00:00:00Z"
                    )
        return requested, problem

    def _parse(self, data: Mapping[str, Any]) -> Trust:
        try:
            entries = {key: base64.b64decode(text, validate=True) for key, text in data.items()}
        except (AttributeError, TypeError, ValueError):
            raise StoreError(self.title, "the API server's answer is no Secret") from None
        return Trust.parse(entries, where=self.title)
