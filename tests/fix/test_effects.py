"""A field without effect gets none, if pods would then wait or kube-apiserver refuse the object."""

import textwrap

import pytest

from tests.fix.cases import entry, listed
from tests.fix.fixed import deployment
from tests.fix.test_orders import fix, of
from webhook.fix.engine import HELD
from webhook.policy.model import ZONE, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE

LIST = listed(entry(topologyKey=ZONE))
MISSPELLED = deployment(LIST).replace("topologySpreadConstraints", "topologySpreadConstraint")
OUTSIDE = textwrap.indent(textwrap.dedent(LIST), "  ").rstrip()
MISPLACED = deployment("").replace("  template:", f"{OUTSIDE}\n  template:")
OPEN = of("a1", "b1", "c1")
CLOSED = [*OPEN[:2], Node("c1", {ZONE: "zone-c"}, (UNSCHEDULABLE,))]

# old and new text of the manifest, nodes
LEFT: dict[str, tuple[str, str, list[Node]]] = {
    "a key of no node": (ZONE, "example.com/rack", OPEN),
    "a closed zone": (ZONE, ZONE, CLOSED),
    "a closed zone, and a misspelled field": ("whenUnsatisfiable", "whenUnsatifiable", CLOSED),
    "a closed zone, and a misspelled value": ("DoNotSchedule", "DoNotSchedul", CLOSED),
    "a closed zone, and a wrong number": ("maxSkew: 1", "maxSkew: 0", CLOSED),
    "a closed zone, and a misspelled key": (ZONE, f"{ZONE}s", CLOSED),
    "a value that the API refuses": ("DoNotSchedule", "NoIdea", OPEN),
}


@pytest.mark.parametrize("text", [MISPLACED, MISSPELLED], ids=["misplaced", "misspelled"])
@pytest.mark.parametrize(("old", "new", "nodes"), LEFT.values(), ids=LEFT.keys())
def test_a_list_without_effect_gets_none_that_harms(
    text: str, old: str, new: str, nodes: list[Node]
) -> None:
    written = text.replace(old, new)

    outcome = fix(written, nodes)

    assert outcome.texts["web.yaml"] == written
    assert outcome.fixed == ()
    assert {one.rule for one in outcome.left} == {"TSC011"}


def test_the_reason_says_what_the_field_would_cause() -> None:
    (left,) = fix(MISPLACED.replace(ZONE, "example.com/rack"), OPEN).left

    assert left.reason == HELD.reason


@pytest.mark.parametrize("text", [MISPLACED, MISSPELLED], ids=["misplaced", "misspelled"])
@pytest.mark.parametrize("nodes", [OPEN, [], [*OPEN, *of("c2")]], ids=len)
def test_a_list_without_effect_gets_one_with_which_all_pods_run(
    text: str, nodes: list[Node]
) -> None:
    outcome = fix(text.replace("DoNotSchedule", "DoNotSchedul"), nodes)

    assert [one.rule for one in outcome.fixed][:2] == ["TSC011", "TSC003"]
    assert "whenUnsatisfiable: DoNotSchedule," in outcome.texts["web.yaml"]


def test_one_object_of_a_file_does_not_hold_another() -> None:
    other = MISPLACED.replace("name: web", "name: api").replace(ZONE, "example.com/rack")

    outcome = fix(f"{MISPLACED}---\n{other}", OPEN)

    assert [(one.rule, one.object) for one in outcome.fixed][:1] == [
        ("TSC011", "Deployment shop/web")
    ]
    assert other in outcome.texts["web.yaml"]
