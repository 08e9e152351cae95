"""No fix leaves pods Pending, in whatever order kube-scheduler places them."""

from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fix.cases import entry, listed
from tests.fix.fixed import deployment, options, reasons, run_fix
from tests.policy.advice.orders import count_placed
from tests.policy.advice.subjects import GPU, node, subject
from webhook.fix.engine import FixOutcome
from webhook.policy.model import HOSTNAME, ZONE, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE

RECREATE = "  strategy: {type: Recreate}\n"


def write_node(one: Node) -> str:
    taints = [msgspec.to_builtins(taint) for taint in one.taints]
    obj = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": one.name, "labels": one.labels},
        "spec": {"taints": taints},
    }
    return "---\n" + yaml.safe_dump(obj)


def fix(text: str, nodes: list[Node], *rules: str) -> FixOutcome:
    return run_fix(text, options(*rules), "".join(map(write_node, nodes)))


def web(*entries: str, replicas: int = 6) -> str:
    text = deployment(listed(*entries), replicas=replicas)
    return text.replace("  template:", f"{RECREATE}  template:", 1)


def of(*names: str, **labels: str) -> list[Node]:
    return [node(name, f"zone-{name[0]}", **labels) for name in names]


UNEVEN = of("a1", "b1", "b2", "b3")
RACKS = [node("b0", "b", rack="1"), node("b1", "b", rack="2"), node("c0", "c", rack="1")]
CORDONED = node("c1", "zone-c", UNSCHEDULABLE)
CONTROL_PLANE = [node(f"cp-{zone}", f"zone-{zone}", GPU) for zone in "abc"]
WRONG = "{matchLabels: {app: wbe}}"
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
OF_API = "{matchLabels: {app: api}}"
API = "\n---\n" + deployment("", labels="{app: api}").replace("name: web", "name: api", 1)

# rule, manifest, nodes, what is written, what is not
FIXED: dict[str, tuple[str, str, list[Node], list[str], list[str]]] = {
    "TSC109: a maxSkew for every order": (
        "TSC109", web(entry(topologyKey=ZONE), entry(topologyKey=HOSTNAME)), UNEVEN,
        ["maxSkew: 3"], [],
    ),
    "TSC112: keys that cross, one after the other": (
        "TSC112",
        web(entry(topologyKey=ZONE, maxSkew="3"), entry(topologyKey="rack", maxSkew="3"),
            replicas=3),
        RACKS, ["maxSkew: 1", "maxSkew: 2"], ["maxSkew: 3"],
    ),
    "TSC112: a soft constraint": (
        "TSC112", web(entry(topologyKey=ZONE, maxSkew="3", minDomains="2"), replicas=3),
        [*of("a1"), node("c1", "zone-c", GPU)], ["ScheduleAnyway", "minDomains: null"],
        ["DoNotSchedule"],
    ),
    "TSC104: a soft constraint": (
        "TSC104",
        web(entry(topologyKey=ZONE, minDomains="5"), entry(topologyKey=HOSTNAME, maxSkew="2")),
        UNEVEN, ["whenUnsatisfiable: ScheduleAnyway, labelSelector"], ["minDomains: 5"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "text", "nodes", "written", "gone"), FIXED.values(), ids=FIXED.keys()
)
def test_what_is_written_leaves_every_replica_a_place(
    rule: str, text: str, nodes: list[Node], written: list[str], gone: list[str]
) -> None:
    outcome = fix(text, nodes, rule)

    after = outcome.texts["web.yaml"]
    assert all(part in after for part in written)
    assert not any(part in after for part in gone)
    assert outcome.left == ()
    advised = subject(yaml.safe_load(after))
    assert count_placed(advised, nodes, advised.replicas or 0) == {advised.replicas}


REFUSED = web(
    entry(topologyKey=ZONE, maxSkew="0"), entry(topologyKey="rack", maxSkew="3"), replicas=3
)


def test_a_maxskew_is_chosen_once_the_api_accepts_the_other_constraints() -> None:
    outcome = fix(REFUSED, RACKS, "TSC001", "TSC112")
    alone = fix(REFUSED, RACKS, "TSC112")

    advised = subject(yaml.safe_load(outcome.texts["web.yaml"]))
    assert [one.max_skew for one in advised.constraints] == [1, 2]
    assert count_placed(advised, RACKS, 3) == {3}
    assert reasons(alone.left) == {"TSC112": "first correct what the API refuses"}


# rules, manifest, nodes, rules of findings that are left, with a part of the reason
LEFT: dict[str, tuple[tuple[str, ...], str, list[Node], dict[str, str]]] = {
    "a selector that begins to count": (
        ("TSC101",), web(entry(topologyKey=ZONE, labelSelector=WRONG),
                         entry(topologyKey=HOSTNAME, maxSkew="2")), UNEVEN,
        {"TSC101": "in some order of placement, replicas may stay Pending"},
    ),
    "a selector that begins to count closed domains": (
        ("TSC101",), web(entry(topologyKey=HOSTNAME, labelSelector=WRONG)),
        [*of("a1", "b1", "c1"), *CONTROL_PLANE], {"TSC101": "would cause TSC105"},
    ),
    "a list that was misspelled": (
        ("TSC011",),
        web(entry(topologyKey=ZONE), entry(topologyKey=HOSTNAME, maxSkew="2")).replace(
            "topologySpreadConstraints", "topologySpreadConstraint"),
        UNEVEN, {"TSC011": "in some order of placement, replicas may stay Pending"},
    ),
    "a misspelled list that counts other pods alone, and closed domains": (
        ("TSC011",),
        web(entry(topologyKey=ZONE, labelSelector=OF_API)).replace(
            "topologySpreadConstraints", "topologySpreadConstraint") + API,
        [*of("a1", "b1"), *CONTROL_PLANE],
        {"TSC011": "in some order of placement, replicas may stay Pending"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rules", "text", "nodes", "left"), LEFT.values(), ids=LEFT.keys())
def test_what_would_leave_a_replica_pending_is_not_written(
    rules: tuple[str, ...], text: str, nodes: list[Node], left: dict[str, str]
) -> None:
    outcome = fix(text, nodes, *rules)

    found = reasons(outcome.left)
    assert found.keys() == left.keys()
    assert all(left[rule] in reason for rule, reason in found.items())
    assert outcome.texts["web.yaml"] == text


@pytest.mark.parametrize("key", [f"{ZONE}s", "failure-domain.beta.kubernetes.io/zone"])
def test_a_constraint_that_counts_other_pods_alone_may_begin_to_count(key: str) -> None:
    copied = web(entry(topologyKey=key, labelSelector=OF_API))

    outcome = fix(copied + API, UNEVEN, "TSC103")

    assert [finding.rule for finding in outcome.fixed] == ["TSC103"]
    assert f"topologyKey: {ZONE}," in outcome.texts["web.yaml"]


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        ("TSC003", "whenUnsatisfiable: DoNotScheduel"),
        ("TSC011", "whenUnsatisfyable: DoNotSchedule"),
    ],
    ids=["in the value", "in the name"],
)
def test_a_typing_error_that_the_api_refuses_is_corrected_though_a_replica_stays_pending(
    rule: str, written: str
) -> None:
    right = entry(topologyKey=ZONE, whenUnsatisfiable="DoNotSchedule")
    text = web(right.replace("whenUnsatisfiable: DoNotSchedule", written))

    outcome = fix(text, [*of("a1", "b1"), CORDONED], rule)

    assert outcome.texts["web.yaml"] == web(right)
    assert outcome.left == ()


def test_misspelled_keys_are_corrected_though_a_node_lacks_the_right_one() -> None:
    nodes = [*of("a1", "b1", rack="1"), *of("c1")]
    text = web(*(entry(topologyKey="racks", whenUnsatisfiable=action) for action in ACTIONS))

    outcome = fix(text, nodes, "TSC103")

    assert outcome.texts["web.yaml"] == text.replace("racks", "rack")
    assert [one.problem for one in outcome.left] == [
        'topologyKey "rack" is on 2 of 3 nodes: the other one (c1) gets none',
        'topologyKey "rack" is on 2 of 3 nodes: the other one (c1) comes last',
    ]


def test_closed_domains_may_begin_to_count_if_they_are_fixed_as_well() -> None:
    text = web(entry(topologyKey=HOSTNAME, labelSelector=WRONG))

    outcome = fix(text, [*of("a1", "b1", "c1"), *CONTROL_PLANE], "TSC101", "TSC105")

    assert [finding.rule for finding in outcome.fixed] == ["TSC101", "TSC105"]
    assert outcome.left == ()


def test_closed_domains_must_not_begin_to_count_if_their_fix_is_on_request() -> None:
    text = web(entry(topologyKey=HOSTNAME, labelSelector=WRONG, minDomains="4"))
    nodes = [*of("a1", "b1", "c1"), *CONTROL_PLANE]

    alone = fix(text, nodes)
    both = fix(text, nodes, "TSC101", "TSC105")

    assert "would cause TSC105" in reasons(alone.left)["TSC101"]
    assert "in some order of placement" in reasons(both.left)["TSC101"]


def test_changes_that_only_together_leave_a_replica_pending_are_not_made_together() -> None:
    wrong = [
        entry(topologyKey=ZONE, labelSelector=WRONG),
        entry(topologyKey=HOSTNAME, maxSkew="2", labelSelector=WRONG),
    ]

    outcome = fix(web(*wrong), UNEVEN, "TSC101")

    assert [finding.rule for finding in outcome.fixed] == ["TSC101"]
    assert "in some order of placement" in reasons(outcome.left)["TSC101"]
    assert outcome.texts["web.yaml"].count("app: wbe") == 1


constraints = st.builds(
    entry,
    maxSkew=st.sampled_from(["1", "2", "9"]),
    minDomains=st.sampled_from(["", "", "5"]),
    labelSelector=st.sampled_from(["{matchLabels: {app: web}}", WRONG]),
    nodeTaintsPolicy=st.sampled_from(["", "Honor"]),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("12"), st.sampled_from([(), (), (GPU,)])),
        min_size=2, max_size=4,
    ),
    st.lists(constraints, min_size=3, max_size=3),
    st.lists(st.sampled_from([ZONE, HOSTNAME, "rack"]), min_size=1, unique=True),
    st.integers(2, 5),
)  # fmt: skip
def test_fixes_leave_pending_only_what_was_pending(
    places: list[Any], entries: list[str], keys: list[str], replicas: int
) -> None:
    nodes = [
        node(f"n{i}", zone, *taints, rack=rack) for i, (zone, rack, taints) in enumerate(places)
    ]
    before = web(
        *(
            one.replace("topologyKey: a", f"topologyKey: {key}")
            for one, key in zip(entries, keys, strict=False)
        ),
        replicas=replicas,
    )

    outcome = fix(before, nodes, "TSC101", "TSC104", "TSC105", "TSC106", "TSC109", "TSC112")

    old, new = (subject(yaml.safe_load(text)) for text in (before, outcome.texts["web.yaml"]))
    if count_placed(old, nodes, replicas) == {replicas}:
        assert count_placed(new, nodes, replicas) == {replicas}
    if outcome.fixed and not outcome.left and max(count_placed(new, nodes, 1)):
        assert max(count_placed(new, nodes, replicas)) == replicas


def test_a_value_that_another_change_makes_needless_is_not_written() -> None:
    """Of two findings of TSC109, the first change leaves all pods a place, and both do not."""
    places = (("a1", "a", "od"), ("b1", "b", "od"), ("c1", "c", "od"), ("b2", "b", "spot"))
    nodes = [node(name, zone, pool=pool) for name, zone, pool in places]
    text = web(*(entry(topologyKey=key) for key in ("pool", ZONE, HOSTNAME)), replicas=7)

    outcome = fix(text, nodes, "TSC109")

    assert outcome.texts["web.yaml"] == text.replace("maxSkew: 1", "maxSkew: 4", 1)
    assert ([one.rule for one in outcome.fixed], outcome.left) == (["TSC109"], ())
