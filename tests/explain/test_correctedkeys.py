"""Topology keys that are on no node, and the keys that they were probably meant to be."""

import msgspec
import pytest
from msgspec.structs import replace

from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.changes import find_changes
from webhook.explain.correctedkeys import CorrectKey, correct_keys
from webhook.explain.scenario import Scenario
from webhook.policy.model import DO_NOT_SCHEDULE, HOSTNAME, SCHEDULE_ANYWAY, ZONE, Constraint

ZONES = "topology.kubernetes.io/zones"
NODES = (node("n1", "a", rack="r"), node("n2", "b", rack="s"))
MISSPELLED = spread_over(ZONES)
FULL = f"set topologyKey of constraint 0 ({ZONES}) to {ZONE}"


def with_default(number: int, *constraints: Constraint) -> Scenario:
    """Make the scenario of a pod to which a profile added the constraint of a number."""
    found = scenario(NODES, *constraints)
    return replace(found, spreads=replace(found.spreads, added=frozenset({number})))


# scenario, what is tried
TRIED: dict[str, tuple[Scenario, list[list[str]]]] = {
    "a misspelled key": (scenario(NODES, MISSPELLED), [[FULL]]),
    "a key of nodes": (scenario(NODES, spread_over(), spread_over(HOSTNAME)), []),
    "a key that resembles none": (scenario(NODES, spread_over("floor")), []),
    "the key of a soft constraint": (
        scenario(NODES, spread_over(ZONES, when_unsatisfiable=SCHEDULE_ANYWAY)), []
    ),
    "two, alone and then together": (
        scenario(NODES, MISSPELLED, spread_over("racks")),
        [
            [FULL],
            ["set topologyKey of constraint 1 (racks) to rack"],
            [FULL, "set topologyKey of constraint 1 (racks) to rack"],
        ],
    ),
    "a key that another constraint has": (scenario(NODES, MISSPELLED, spread_over()), []),
    "a key of a default that the correction replaces": (
        with_default(1, MISSPELLED, spread_over()), [[FULL]]
    ),
    "a default of the key of another constraint": (
        with_default(0, MISSPELLED, spread_over()), []
    ),
    "a key that another one is corrected to": (
        scenario(NODES, MISSPELLED, spread_over("topology.kubernetes.io/zon")), [[FULL]]
    ),
    "there is no node": (scenario((), MISSPELLED), []),
}  # fmt: skip


@pytest.mark.parametrize(("question", "tried"), TRIED.values(), ids=TRIED.keys())
def test_corrections(question: Scenario, tried: list[list[str]]) -> None:
    found = correct_keys(question, question.placement())

    assert [[str(edit) for edit in edits] for edits in found] == tried


def test_the_right_key_is_the_first_change() -> None:
    question = scenario(NODES, spread_over(HOSTNAME), MISSPELLED, pods={"n1": 1})
    first, second, *_ = find_changes(question, question.placement())

    assert (first.sentence, first.nodes) == (
        f"set topologyKey of constraint 1 ({ZONES}) to {ZONE}",
        ("n2",),
    )
    assert second.sentence.startswith("label node n2")


@pytest.mark.parametrize("action", [DO_NOT_SCHEDULE, SCHEDULE_ANYWAY])
def test_a_default_of_a_profile_is_not_added_beside_the_corrected_key(action: str) -> None:
    added = spread_over(when_unsatisfiable=action)
    question = with_default(2, MISSPELLED, spread_over(HOSTNAME), added)
    (first, *_) = find_changes(question, question.placement())

    assert (first.sentence, first.nodes) == (FULL, ("n1", "n2"))
    (edit,) = first.edits
    assert edit.apply(question).spreads.by_index == (
        scenario(NODES, spread_over(), spread_over(HOSTNAME)).spreads.by_index
    )


def test_the_other_defaults_of_a_profile_stay_if_one_is_corrected() -> None:
    soft = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)
    question = scenario(NODES, MISSPELLED, soft)
    of_profile = replace(question.spreads, added=frozenset({0, 1}))

    changed = CorrectKey(0, ZONES, ZONE).apply(replace(question, spreads=of_profile))

    assert changed.spreads.by_index == scenario(NODES, spread_over(), soft).spreads.by_index


def test_an_edit_for_programs() -> None:
    edit = CorrectKey(0, ZONES, ZONE)

    assert msgspec.to_builtins(edit) == {
        "edit": "correctKey", "index": 0, "topologyKey": ZONES, "after": ZONE,
    }  # fmt: skip
    assert edit.apply(scenario(NODES, MISSPELLED)).spreads == scenario(NODES, spread_over()).spreads
