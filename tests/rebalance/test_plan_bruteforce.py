import dataclasses
import os
from random import Random

import pytest
from msgspec.structs import replace

from tests.rebalance.bruteforce import BruteForce
from tests.rebalance.randomclusters import random_situation
from tests.rebalance.situations import Situation
from webhook.policy.model import SCHEDULE_ANYWAY
from webhook.policy.placement.spreads import SpreadConstraints
from webhook.rebalance.replay import EvictionStep

CASES = 2000 if os.environ.get("EVENSPREAD_E2E") == "long" else 100
BATCHES = 4  # so that several processes share the cases


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_strategy_has_fewer_evictions_in_the_worst_case(batch: int) -> None:
    for seed in range(batch, CASES, BATCHES):
        situation = random_situation(seed)

        plan = situation.plan()

        number, reached = BruteForce(situation).least()
        held = frozenset(i for i, goal in enumerate(plan.goals) if goal.obstacle is None)
        assert (len(plan.steps), held) == (number, reached), seed
        assert plan.is_certain, seed


def soften(situation: Situation, random: Random) -> Situation:
    """Make all constraints soft, and cordon a node at random."""
    nodes = list(situation.nodes)
    cordoned = random.randrange(len(nodes))
    nodes[cordoned] = replace(nodes[cordoned], unschedulable=True)
    pods = [replace(one, spreads=_soften(one.spreads)) for one in situation.pods]
    return dataclasses.replace(situation, pods=pods, nodes=nodes)


def _soften(spreads: SpreadConstraints) -> SpreadConstraints:
    every = sorted((*spreads.hard, *spreads.soft), key=lambda spread: spread.index)
    soft = tuple(
        replace(
            spread,
            constraint=replace(spread.constraint, when_unsatisfiable=SCHEDULE_ANYWAY),
            min_domains=1,
        )
        for spread in every
    )
    return replace(spreads, hard=(), soft=soft)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_strategy_for_soft_constraints_has_fewer_evictions(batch: int) -> None:
    for seed in range(batch, CASES, BATCHES):
        situation = soften(random_situation(seed), Random(seed))

        plan = situation.plan()

        number, reached = BruteForce(situation).least()
        held = frozenset(i for i, goal in enumerate(plan.goals) if goal.obstacle is None)
        assert (len(plan.steps), held) == (number, reached), seed
        assert plan.is_certain, seed


@pytest.mark.parametrize("batch", range(BATCHES))
def test_constraints_that_are_reached_hold_on_the_cluster_of_the_steps(batch: int) -> None:
    for seed in range(CASES + batch, 2 * CASES, BATCHES):
        plan = random_situation(seed).plan()

        for result in plan.goals:
            tally = result.after
            excess = max(tally.pods.values(), default=0) - tally.minimum - tally.spread.max_skew
            assert result.holds == (excess <= 0), seed
            assert result.holds or result.obstacle is not None, seed


def carry_out(situation: Situation, step: EvictionStep, node: str) -> Situation:
    """Evict the pod of a step, and let its replacement be ready on a node."""
    pods = [
        replace(one, pod=replace(one.replacement, node_name=node), is_ready=True)
        if one.pod.name == step.pod
        else one
        for one in situation.pods
    ]
    recovered = sum(not one.is_ready for one in situation.pods if one.pod.name == step.pod)
    labels = next(one.pod.labels for one in situation.pods if one.pod.name == step.pod)
    budgets = [
        replace(one, healthy=one.healthy + recovered * one.selects("shop", labels))
        for one in situation.budgets
    ]
    return dataclasses.replace(situation, pods=pods, budgets=budgets)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_planning_again_after_each_choice_of_the_scheduler_takes_no_more_evictions(
    batch: int,
) -> None:
    for seed in range(batch, 2 * CASES, BATCHES):
        random, situation = Random(seed), random_situation(seed)
        plan = first = situation.plan()
        if any(goal.obstacle for goal in first.goals):
            continue  # a choice by chance may bring such a goal within reach
        number = 0
        while plan.steps:
            number += 1
            assert number <= len(first.steps), seed
            step = plan.steps[0]
            situation = carry_out(situation, step, random.choice(step.candidates))
            plan = situation.plan()
        assert plan.restores_all, seed
