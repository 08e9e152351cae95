"""TSC119 in random clusters, compared with rollouts of every choice from every first placement."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.build import Json, spread
from tests.explain.rollingupdate.rollouts import of_sets
from tests.policy.advice.subjects import GPU, audit, check_rule, deployed, node
from webhook.explain.rollingupdate.simulation import simulate
from webhook.explain.rollingupdate.sizes import RollingUpdate
from webhook.policy.advice.subject import Subject
from webhook.policy.model import HOSTNAME, ZONE, Constraint, Node

POLICIES = st.fixed_dictionaries(
    {"nodeTaintsPolicy": st.sampled_from(["Honor", "Honor", "Ignore"])}
)
RULES = ("TSC104", "TSC105", "TSC109", "TSC116", "TSC119")


@st.composite
def some_nodes(draw: st.DrawFn) -> list[Node]:
    """Draw nodes of a small zone and a large one, few of which are tainted."""
    zones = "a" + draw(st.sampled_from(["bb", "bbb", "bbbb", "abb", "b", ""]))
    taints = st.sampled_from([(), (), (), (), (), (GPU,)])
    return [node(f"n{number}", zone, *draw(taints)) for number, zone in enumerate(zones)]


@st.composite
def some_constraints(draw: st.DrawFn) -> list[Json]:
    """Draw one constraint on zones and one on nodes."""
    skews = draw(st.sampled_from([(1, 1), (1, 1), (1, 1), (1, 2), (2, 1)]))
    both = (ZONE, HOSTNAME), (HOSTNAME, ZONE)
    keys = draw(st.sampled_from([*both, *both, (ZONE,), (HOSTNAME,)]))
    return [
        spread(topologyKey=key, maxSkew=skew, **draw(POLICIES))
        for key, skew in zip(keys, skews, strict=False)
    ]


def can_finish(
    advised: Subject, nodes: Sequence[Node], constraints: tuple[Constraint, ...]
) -> bool:
    """Whether a rollout finishes with some choice, after the replicas were placed with some."""
    assert advised.limits is not None
    assert advised.replicas is not None
    strategy = RollingUpdate(advised.replicas, advised.limits.resolve(advised.replicas))
    forecast, _ = simulate(of_sets(nodes, strategy, *constraints))
    assert forecast.all_tried
    return forecast.can_finish


@given(
    some_nodes(),
    some_constraints(),
    st.integers(1, 4),
    st.sampled_from([0, 0, 1]),
    st.integers(1, 2),
)
def test_what_cannot_finish_with_any_choice(
    nodes: list[Node], written: list[Json], replicas: int, unavailable: int, surge: int
) -> None:
    limits = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": limits}
    advised = deployed(*written, replicas=replicas, strategy=strategy)
    found = {rule: check_rule(rule, advised, audit(nodes)) for rule in RULES}

    finishes = can_finish(advised, nodes, advised.constraints)

    if found["TSC119"]:
        assert not finishes
        assert not any(found[rule] for rule in RULES if rule != "TSC119"), "one cause, one finding"
    is_open = any(not one.taints for one in nodes)
    if not finishes and is_open:
        assert any(found.values()), "no rule reports it"


@given(some_nodes(), some_constraints(), st.integers(2, 4))
def test_the_remedy_lets_a_rollout_finish(
    nodes: list[Node], written: list[Json], replicas: int
) -> None:
    limits = {"maxSurge": 1, "maxUnavailable": 0}
    strategy = {"type": "RollingUpdate", "rollingUpdate": limits}
    advised = deployed(*written, replicas=replicas, strategy=strategy)
    apart = [{**one, "matchLabelKeys": ["pod-template-hash"]} for one in written]
    changed = deployed(*apart, replicas=replicas, strategy=strategy)

    if check_rule("TSC119", advised, audit(nodes)):
        assert can_finish(changed, nodes, changed.constraints)
        assert check_rule("TSC119", changed, audit(nodes)) == []
