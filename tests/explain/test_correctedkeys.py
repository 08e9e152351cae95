"""Topology keys that are on no node, and the keys that they were probably meant to be."""

import msgspec
import pytest

from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.changes import find_changes
from webhook.explain.correctedkeys import CorrectKey, correct_keys
from webhook.explain.scenario import Scenario
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE

ZONES = "topology.kubernetes.io/zones"
NODES = (node("n1", "a", rack="r"), node("n2", "b", rack="s"))
MISSPELLED = spread_over(ZONES)
FULL = f"set topologyKey of constraint 0 ({ZONES}) to {ZONE}"

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


def test_an_edit_for_programs() -> None:
    edit = CorrectKey(0, ZONES, ZONE)

    assert msgspec.to_builtins(edit) == {
        "edit": "correctKey", "index": 0, "topologyKey": ZONES, "after": ZONE,
    }  # fmt: skip
    assert edit.apply(scenario(NODES, MISSPELLED)).spreads == scenario(NODES, spread_over()).spreads
