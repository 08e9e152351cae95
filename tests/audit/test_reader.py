import json
from typing import Any

import msgspec
import pytest

from tests.audit import world
from webhook.audit.reader import ObjectReader
from webhook.audit.snapshot import Snapshot
from webhook.cluster.facts import VersionKind

LEVELS = 9000
DEEP = '{"a":' * LEVELS + "{}" + "}" * LEVELS  # no encoder of Python writes it

KINDS: tuple[VersionKind, ...] = (
    ("v1", "Node"),
    ("v1", "Namespace"),
    ("v1", "Service"),
    ("v1", "Pod"),
    ("v1", "ReplicationController"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "CronJob"),
)


def put(version_kind: VersionKind, text: str) -> Snapshot:
    """Put an object of a kind into an empty snapshot."""
    configuration, snapshot = world.CONFIGURATION, Snapshot()
    reader = ObjectReader(configuration.pod_templates, configuration.owner_selectors)
    reader.put(snapshot, version_kind, msgspec.Raw(text.encode()))
    return snapshot


@pytest.mark.parametrize("version_kind", KINDS, ids="/".join)
@pytest.mark.parametrize("member", ["metadata", "spec"])
def test_deep_members_that_are_not_read_change_nothing(
    version_kind: VersionKind, member: str
) -> None:
    obj: dict[str, Any] = {"metadata": {"name": "it", "namespace": "shop"}, "spec": {}}
    obj[member]["unread"] = "@"
    text = json.dumps(obj)

    deep = put(version_kind, text.replace('"@"', DEEP))

    assert deep == put(version_kind, text)
