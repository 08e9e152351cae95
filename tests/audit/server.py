"""An API server that has some objects, and forgets or refuses what it is told to."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import yaml

from webhook.cluster.protocol import JSON, NO_QUERY, Query, Response

PAGE = 2  # objects, so that there are several pages
GROUPS = {
    "groups": [{"name": "argoproj.io", "preferredVersion": {"groupVersion": "argoproj.io/v1"}}]
}
KINDS = {"resources": [{"name": "rollouts", "kind": "Rollout"}]}


class Server:
    """
    Gives lists in the order of their keys, in small pages.

    Attributes:
        objects: All there are; of each kind, and in the order, that lists have.
        asked: The paths of requests.
    """

    name = "https://api"

    def __init__(
        self,
        objects: str | Sequence[Any],
        failures: Mapping[str, Sequence[Exception | None]] | None = None,
    ) -> None:
        """
        Take the objects, as YAML or as they are.

        Args:
            failures: Path -> what its first requests fail with; None: they do not.
        """
        made = yaml.safe_load_all(objects) if isinstance(objects, str) else objects
        self.objects = sorted(filter(None, made), key=_key)
        self._failures = {path: list(each) for path, each in (failures or {}).items()}
        self.asked: list[str] = []

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        """Answer a request."""
        del method, body, content_type
        self.asked.append(path)
        failures = self._failures.get(path)
        failure = failures.pop(0) if failures else None
        if failure is not None:
            raise failure
        if path == "/apis":
            return Response(200, msgspec.json.encode(GROUPS))
        if path == "/apis/argoproj.io/v1":
            return Response(200, msgspec.json.encode(KINDS))
        plural = path.rpartition("/")[2]
        items = [each for each in self.objects if f"{each['kind'].lower()}s" == plural]
        start = int(query.get("continue", "0"))
        metadata = {"resourceVersion": "1"}
        if start + PAGE < len(items):
            metadata["continue"] = str(start + PAGE)
        page = {"metadata": metadata, "items": items[start : start + PAGE]}
        return Response(200, msgspec.json.encode(page))


def _key(made: Any) -> str:
    """What an object is stored under: names are in the order of these."""
    metadata = made["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"
