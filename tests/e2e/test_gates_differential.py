"""
For every create and update, ``apiserver.predict_response`` predicts a real kube-apiserver.

In the long form for every version that the control plane can emulate, with all gates that it has,
on and off. The gates of the table are also compared with those that kube-apiserver itself reports.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from prometheus_client.parser import text_string_to_metric_families

from tests.conformance import comparison, validation
from tests.conformance.case import Case
from tests.controlplane.api import Json
from tests.controlplane.apiserver import ApiServer
from tests.controlplane.assets import Assets, chosen_version
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import ProcessError
from tests.e2e.objects import LONG, rounds
from tests.e2e.recording import Server
from tests.e2e.trials import Trial, changes, tame_lists, trials
from webhook.errors import GateError
from webhook.policy.api.gates import GATES, Gate, Stage, resolve
from webhook.policy.api.versions import Version, parse_version

TRIED = settings(max_examples=rounds(50, 500), derandomize=not LONG)

KEYS, MERGE = str(Gate.MATCH_LABEL_KEYS), str(Gate.SELECTOR_MERGE)
POLICIES = str(Gate.NODE_INCLUSION_POLICY)
OWN = {Gate.DEFAULTS, Gate.ADVICE}
"""Gates that Kubernetes does not have."""


class Started(NamedTuple):
    """How an API server is started."""

    version: str
    gates: Mapping[str, bool]


NEWEST = parse_version(chosen_version(os.environ))
OLDEST = Version(1, NEWEST.minor - 3)
"""The oldest version that the control plane can emulate."""

MERGES = Version(1, 34)
"""The first version that merges matchLabelKeys into the selector."""


def choices(version: Version) -> Mapping[str, Mapping[str, bool]]:
    """Return the settings of gates to try on a version, by their names."""
    if version < MERGES:
        return {"": {}, " without keys": {KEYS: False}}
    return {
        "": {},
        " without merging": {MERGE: False},
        " without keys": {KEYS: False, MERGE: False},
    }


ALL = {
    f"{version}{words}": Started(str(version), gates)
    for version in (Version(1, minor) for minor in range(OLDEST.minor, NEWEST.minor + 1))
    for words, gates in choices(version).items()
}
SOME = (str(OLDEST), f"1.{NEWEST.minor - 1} without keys", str(NEWEST))
CHOSEN = ALL if LONG else {name: ALL[name] for name in SOME}


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets) -> Iterator[ControlPlane]:
    options = Options(controllers=False, scheduler=False, service_accounts=False, rbac=False)
    with ControlPlane(control_plane_assets, options) as plane:
        yield plane


@pytest.fixture(scope="module")
def other(plane: ControlPlane) -> Iterator[ApiServer]:
    """An API server on the same etcd, started anew as each test needs it."""
    server = plane.add_apiserver()
    yield server
    server.process.kill()


@pytest.fixture(scope="module", params=CHOSEN.values(), ids=list(CHOSEN))
def server(request: pytest.FixtureRequest, plane: ControlPlane, other: ApiServer) -> Server:
    started: Started = request.param
    start(other, plane, started)
    return Server(other.api, started.version, started.gates)


def start(server: ApiServer, plane: ControlPlane, started: Started) -> None:
    server.process.kill()
    changes: Json = {"emulated_version": started.version, "feature_gates": started.gates}
    server.start(replace(plane.options, **changes))


@contextmanager
def stored(plane: ControlPlane, trial: Trial) -> Iterator[Json | None]:
    """An object that the newest API server, with all gates, stores for a while; None if not."""
    obj = trial.object
    reply = plane.api.request("POST", plane.api.collection_of(obj), obj)
    try:
        yield reply.body if reply.status == 201 else None
    finally:
        plane.api.delete(obj)


def check(case: Case) -> None:
    given = validation.answer(case)
    if comparison.differs(case, given):
        pytest.fail(json.dumps({"case": case, "ours": given}, indent=1), pytrace=False)


@TRIED
@given(trial=trials)
def test_a_create_is_answered_as_by_the_real_one(server: Server, trial: Trial) -> None:
    check(server.create(trial))


@TRIED
@given(trial=trials, tame=tame_lists, changed=changes)
def test_an_update_is_answered_as_by_the_real_one(
    plane: ControlPlane, server: Server, trial: Trial, tame: list[Json], changed: Json
) -> None:
    before = trial._replace(constraints=tame)
    with stored(plane, before) as old:
        if old is None:
            return
        after = before._replace(**changed)

        check(server.update(old, after))


def test_gates_are_in_the_state_that_the_real_one_reports(server: Server) -> None:
    version = parse_version(server.version)
    settings = resolve(version, server.gates).settings
    known = {
        gate: settings[gate]
        for gate, spec in GATES.items()
        if gate not in OWN and settings[gate].stage and version <= (spec.removed_after or version)
    }

    assert reported(server) == {
        gate: (setting.stage, setting.on) for gate, setting in known.items()
    }


def reported(server: Server) -> Mapping[Gate, tuple[Stage, bool]]:
    """Return the gates of the table that an API server has, as it reports them."""
    text = server.api.request("GET", "/metrics").body["text"]
    (family,) = (
        family
        for family in text_string_to_metric_families(text)
        if family.name == "kubernetes_feature_enabled"
    )
    found = ((sample.labels, sample.value == 1) for sample in family.samples)
    return {
        Gate(labels["name"]): (Stage(labels["stage"] or Stage.GA), on)
        for labels, on in found
        if labels["name"] in GATES
    }


REFUSED = {
    "a gate that is locked": Started(str(OLDEST), {POLICIES: False}),
    "a gate that is locked, in a later version": Started(str(NEWEST), {POLICIES: False}),
    "merging without the keys": Started(str(MERGES), {KEYS: False}),
    "a gate that there is not": Started(str(NEWEST), {"MinDomains": True}),
}
if OLDEST < MERGES:
    REFUSED["a gate of a later version"] = Started(str(OLDEST), {MERGE: True})


@pytest.mark.parametrize("started", REFUSED.values(), ids=REFUSED.keys())
def test_gates_that_end_the_real_one_are_refused(
    plane: ControlPlane, other: ApiServer, started: Started
) -> None:
    with pytest.raises(ProcessError, match="ended by itself"):
        start(other, plane, started)
    with pytest.raises(GateError):
        resolve(parse_version(started.version), started.gates)
