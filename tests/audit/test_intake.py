import json
from typing import Any

import msgspec
import pytest

from tests.audit import world
from webhook.audit.intake import Intake
from webhook.audit.kinds import BUILT_IN, CLUSTER_WIDE, PODS, Listed
from webhook.audit.snapshot import Snapshot

LEVELS = 9000
DEEP = '{"a":' * LEVELS + "{}" + "}" * LEVELS  # no encoder of Python writes it

LISTED = {each.kind: each for each in (*CLUSTER_WIDE, *BUILT_IN, PODS)}


def put(listed: Listed, text: str) -> Snapshot:
    """Put an object of a kind into an empty snapshot."""
    configuration, snapshot = world.CONFIGURATION, Snapshot()
    intake = Intake(configuration.pod_templates, configuration.owner_selectors)
    intake.put(snapshot, listed, msgspec.Raw(text.encode()))
    return snapshot


@pytest.mark.parametrize("kind", LISTED)
@pytest.mark.parametrize("member", ["metadata", "spec"])
def test_deep_members_that_nobody_reads_change_nothing(kind: str, member: str) -> None:
    obj: dict[str, Any] = {"metadata": {"name": "it", "namespace": "shop"}, "spec": {}}
    obj[member]["unread"] = "@"
    text = json.dumps(obj)

    deep = put(LISTED[kind], text.replace('"@"', DEEP))

    assert deep == put(LISTED[kind], text)
