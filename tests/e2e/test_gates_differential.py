"""
Whatever is created or updated, ``apiserver.answer`` says what a real kube-apiserver does.

As many creates and as many updates for each API server as half of the examples that the Hypothesis
profile has; with HYPOTHESIS_PROFILE=search for every version and all its gates.
"""

import json
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies
from tests.conformance import comparison, validation
from tests.conformance.case import Case
from tests.controlplane.api import Json
from tests.controlplane.apiserver import ApiServer
from tests.controlplane.assets import Assets
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import ProcessError
from tests.e2e.recording import Server, Trial
from webhook.errors import GateError
from webhook.policy import render
from webhook.policy.gates import Gate, resolve
from webhook.policy.versions import parse_version
from webhook.policy.workloads import BUILT_IN

EXAMPLES = settings().max_examples // 2
FEW = settings(max_examples=EXAMPLES)
SEARCHING = EXAMPLES > 50

KEYS, MERGE = str(Gate.MATCH_LABEL_KEYS), str(Gate.SELECTOR_MERGE)
POLICIES = str(Gate.NODE_INCLUSION_POLICY)


class Started(NamedTuple):
    """How an API server is started."""

    version: str
    gates: Mapping[str, bool]


OLD = {
    "1.33": Started("1.33", {}),
    "1.33 without keys": Started("1.33", {KEYS: False}),
}
NEW = {
    f"{version}{words}": Started(version, gates)
    for version in ("1.34", "1.35", "1.36")
    for words, gates in (
        ("", {}),
        (" without merging", {MERGE: False}),
        (" without keys", {KEYS: False, MERGE: False}),
    )
}
ALL = OLD | NEW
CHOSEN = ALL if SEARCHING else {name: ALL[name] for name in ("1.33", "1.35 without keys", "1.36")}


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


def listed(constraints: Any) -> list[Json]:
    """
    As a client sends them, without characters that are not assigned in the Unicode of Python 3.11.

    Go has a newer one, and so quotes some of them otherwise.
    """
    text = json.dumps([render.constraint(each) for each in constraints], ensure_ascii=False)
    known = ("?" if unicodedata.category(each) == "Cn" else each for each in text)
    decoded: list[Json] = json.loads("".join(known))
    return decoded


selectors = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(strategies.keys, strategies.values, max_size=1),
        "matchExpressions": st.lists(
            st.builds(
                lambda key, operator: {"key": key, "operator": operator},
                strategies.keys,
                st.sampled_from(["Exists", "DoesNotExist"]),
            ),
            max_size=2,
        ),
    },
)
tame_constraints = st.fixed_dictionaries(
    {
        "maxSkew": st.integers(1, 2),
        "topologyKey": strategies.topology_keys,
        "whenUnsatisfiable": st.just("DoNotSchedule"),
        "labelSelector": selectors,
    },
    optional={
        "minDomains": st.integers(1, 2),
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore"]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
        "matchLabelKeys": st.lists(strategies.keys, max_size=2),
    },
)
tame_lists = st.lists(tame_constraints, max_size=2, unique_by=lambda each: each["topologyKey"])
lists = tame_lists | strategies.json_lists | strategies.any_lists.map(listed)
trials = st.builds(
    Trial,
    st.sampled_from(sorted(BUILT_IN)),
    st.dictionaries(strategies.keys, strategies.values, max_size=3),
    lists,
    st.just("one"),
    st.just("one"),
)
changes = st.fixed_dictionaries(
    {},
    optional={"constraints": lists | tame_lists, "image": st.just("two"), "mark": st.just("two")},
)


def check(case: Case) -> None:
    given = validation.answer(case)
    if comparison.differs(case, given):
        pytest.fail(json.dumps({"case": case, "ours": given}, indent=1), pytrace=False)


@FEW
@given(trial=trials)
def test_a_create_is_answered_as_by_the_real_one(server: Server, trial: Trial) -> None:
    check(server.create(trial))


@FEW
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


REFUSED = {
    "a gate that is locked": Started("1.33", {POLICIES: False}),
    "a gate that is locked, in a later version": Started("1.36", {POLICIES: False}),
    "merging without the keys": Started("1.34", {KEYS: False}),
    "a gate of a later version": Started("1.33", {MERGE: True}),
    "a gate that there is not": Started("1.36", {"MinDomains": True}),
}


@pytest.mark.parametrize("started", REFUSED.values(), ids=REFUSED.keys())
def test_gates_that_end_the_real_one_are_refused(
    plane: ControlPlane, other: ApiServer, started: Started
) -> None:
    with pytest.raises(ProcessError, match="ended by itself"):
        start(other, plane, started)
    with pytest.raises(GateError):
        resolve(parse_version(started.version), started.gates)
