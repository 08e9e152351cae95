"""What a pod must have when it was created."""

import pytest

from tests.controlplane.api import Json
from tests.soak.traffic import LABELS, find_flaw

GOOD: Json = {"labelSelector": {"matchLabels": {**LABELS, "set": "7"}}}
OTHER: Json = {"labelSelector": {"matchLabels": {"set": "7"}}}


@pytest.mark.parametrize(
    ("constraints", "flaw"),
    [
        ([GOOD, GOOD], ""),
        ([], "has 0 constraints, not 2"),
        ([GOOD, OTHER], "is selected by"),
    ],
)
def test_a_pod_without_its_defaults_is_noticed(constraints: list[Json], flaw: str) -> None:
    found = find_flaw({"spec": {"topologySpreadConstraints": constraints}})

    assert found.startswith(flaw)
    assert bool(found) == bool(flaw)
