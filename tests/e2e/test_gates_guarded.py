"""
Gates that are off change nothing but the fields they guard, on the whole way through the wire.

What the API server stores of an object, after our hooks, is what it stores without them of the same
object without those fields.
"""

import copy
import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.controlplane.api import Json, Reply
from tests.controlplane.plane import ControlPlane
from tests.e2e.objects import LONG, rounds
from tests.e2e.replica import Registered, Replica, by_url
from tests.e2e.trials import Trial, trials
from webhook.policy.api.gates import GATES, Gate
from webhook.policy.kinds import BUILT_IN_TEMPLATES

TRIED = settings(max_examples=rounds(50, 500), derandomize=not LONG)

GUARDED = {field for spec in GATES.values() for field in spec.fields}
OFF = (
    Gate.MIN_DOMAINS, Gate.NODE_INCLUSION_POLICY, Gate.MATCH_LABEL_KEYS, Gate.SELECTOR_MERGE
)  # fmt: skip
CONFIG = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
fieldDefaults: none
"""

HOOKED = {"evenspread.test/guarded": "yes"}
OWN = frozenset({"namespace", "uid", "creationTimestamp", "managedFields"})
"""Members of the metadata that differ between any two objects."""


@pytest.fixture(scope="module")
def hooked(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A namespace that a server with these gates off is called for."""
    plane = control_plane
    flags: dict[str, Any] = {
        "feature_gates": ",".join(f"{gate}=false" for gate in OFF),
        "allow_locked_gates": True,
    }
    folder: Path = tmp_path_factory.mktemp("guarded")
    with Replica(folder, plane.apiserver.kubeconfig, CONFIG, **flags) as replica:
        replica.wait()
        with Registered(plane, by_url(replica, "guarded", HOOKED)):
            yield plane.create_namespace(HOOKED)


@pytest.fixture(scope="module")
def plain(control_plane: ControlPlane) -> str:
    """A namespace that no server is called for."""
    return control_plane.create_namespace()


def tried(plane: ControlPlane, obj: Json, namespace: str) -> Reply:
    placed = {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
    return plane.api.request(
        "POST", plane.api.collection_of(placed), placed, query={"dryRun": "All"}
    )


def unguarded(trial: Trial) -> Json:
    """The object without the fields that gates guard."""
    obj = copy.deepcopy(trial.object)
    held = obj
    for member in (*BUILT_IN_TEMPLATES[trial.kind], "spec"):
        held = held[member]
    held["topologySpreadConstraints"] = [
        {key: value for key, value in (constraint or {}).items() if key not in GUARDED}
        for constraint in held["topologySpreadConstraints"]
    ]
    return obj


def essence(reply: Reply) -> Json:
    """Return the stored object without times and names; only the status if it is refused."""
    if reply.status != HTTPStatus.CREATED:
        return {"status": reply.status}
    uid = reply.body["metadata"]["uid"]
    metadata = {key: value for key, value in reply.body["metadata"].items() if key not in OWN}
    text = json.dumps({**reply.body, "metadata": metadata})
    stored: Json = json.loads(text.replace(uid, "its uid"))  # a Job selects by it
    return stored


@TRIED
@given(trial=trials)
def test_gates_change_nothing_but_the_fields_they_guard(
    control_plane: ControlPlane, hooked: str, plain: str, trial: Trial
) -> None:
    stored = tried(control_plane, trial.object, hooked)
    expected = tried(control_plane, unguarded(trial), plain)

    assert essence(stored) == essence(expected)
