"""
Whether replicas can satisfy two hard constraints whose domains cross, as zones and capacity types.

Domains cross if no key's domains lie within those of the other: a zone has nodes of several
capacity types, and a capacity type has nodes in several zones. ``cross_domains`` describes them,
``first_unplaceable_across`` is the arithmetic. As in ``feasibility``, it compares final counts and
ignores the order of placement, so "impossible" holds for every order.

Source: kube-scheduler plugins/podtopologyspread/filtering.go ``Filter``; A. J. Hoffman, "Some
recent applications of the theory of linear inequalities to extremal combinatorial analysis" (1960),
for the existence of a circulation.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

from webhook.policy.advice.feasibility import SkewLimit, list_numbers, minimums
from webhook.policy.placement.spreads import SpreadConstraint

FEWER_DOMAINS = 8
"""The most open domains of the key with fewer of them: each of their 256 choices is tried."""


class _DomainRange(NamedTuple):
    """The least and the most pods that a constraint allows in each open domain."""

    least: int
    most: int


class CrossingDomains(NamedTuple):
    """
    How domains of two topology keys share the nodes that a pod can go to.

    Attributes:
        first: Number of the first key's domains with such a node; at least 1.
        second: Number of those of the second key; at least 1.
        choices: For each choice of these domains of the first key, how many they are, and how many
            domains of the second key share a node with one of them.
        first_counted: Number of domains of the first key that count; more if some are closed.
        second_counted: The same of the second key.
    """

    first: int
    second: int
    choices: frozenset[tuple[int, int]]
    first_counted: int
    second_counted: int


def cross_domains(
    cells: Iterable[tuple[str, str]], first_counted: int, second_counted: int
) -> CrossingDomains | None:
    """
    Describe how domains share nodes.

    Args:
        cells: For each node that a pod can go to, its values of the two topology keys.
        first_counted: Number of domains of the first key that count.
        second_counted: The same of the second key.

    Returns:
        None if there is no node, or if both keys have more than ``FEWER_DOMAINS`` domains.
    """
    shared: dict[str, set[str]] = {}
    turned: dict[str, set[str]] = {}
    for one, other in cells:
        shared.setdefault(one, set()).add(other)
        turned.setdefault(other, set()).add(one)
    if not shared or min(len(shared), len(turned)) > FEWER_DOMAINS:
        return None
    if len(shared) <= len(turned):
        choices = set(_list_choices(shared))
    else:
        # A choice of the second key is the complement of one of the first: the domains of the
        # first that share no node with it share nodes with the others only.
        choices = {
            (len(shared) - neighbours, len(turned) - chosen)
            for chosen, neighbours in _list_choices(turned)
        }
    return CrossingDomains(
        len(shared), len(turned), frozenset(choices), first_counted, second_counted
    )


def _list_choices(shared: Mapping[str, set[str]]) -> Iterator[tuple[int, int]]:
    """Yield the size of each choice of domains, and the number of those that share its nodes."""
    domains = list(shared.values())
    for chosen in product((False, True), repeat=len(domains)):
        own = [others for others, is_chosen in zip(domains, chosen, strict=True) if is_chosen]
        yield len(own), len(set[str]().union(*own))


def first_unplaceable_across(
    replicas: int, domains: CrossingDomains, first: SkewLimit | None, second: SkewLimit | None
) -> int | None:
    """
    Find the first of the replicas that has no place, in whatever order they are placed.

    Args:
        replicas: At least 1; all count for both constraints, and no other pod does.
        first: The limit of the first key's domains; None if nothing limits them.
        second: That of the second key's domains.

    Returns:
        Its number, from 1; None if none is found. If the limits are large, only the last replica is
        checked.
    """
    numbers = list_numbers(replicas, first, second)
    return next((one for one in numbers if not _can_place(one, domains, first, second)), None)


def _can_place(
    replicas: int, domains: CrossingDomains, first: SkewLimit | None, second: SkewLimit | None
) -> bool:
    """Whether some final minimums of the two keys allow all replicas."""
    return any(
        all(_fits(replicas, domains, choice, one, other) for choice in domains.choices)
        for one in _list_ranges(replicas, domains.first, first)
        for other in _list_ranges(replicas, domains.second, second)
    )


def _list_ranges(replicas: int, domains: int, limit: SkewLimit | None) -> Iterator[_DomainRange]:
    """Yield the range of pods in each domain for each possible minimum."""
    for least in minimums(replicas, domains, limit):
        yield _DomainRange(least, replicas if limit is None else least + limit.max_skew)


def _fits(
    replicas: int,
    domains: CrossingDomains,
    choice: tuple[int, int],
    first: _DomainRange,
    second: _DomainRange,
) -> bool:
    """
    Whether no choice of domains shows that the pods cannot be divided.

    Pods flow into domains of the first key, over nodes into domains of the second key, and out of
    them. By Hoffman's theorem, a division exists if, for each choice of domains of the first key,
    what must flow into a part of the network is no more than what can flow out of it.
    """
    chosen, neighbours = choice
    others, rest = domains.first - chosen, domains.second - neighbours
    return (
        first.least * chosen <= second.most * neighbours
        and second.least * rest <= first.most * others
        and first.least * chosen + second.least * rest
        <= replicas
        <= first.most * others + second.most * neighbours
    )


def limit_crossing(
    first: SpreadConstraint, second: SpreadConstraint, domains: CrossingDomains
) -> tuple[SkewLimit, SkewLimit]:
    """Return the limits of two constraints whose domains cross."""
    # A closed domain stays empty, and with it the minimum at 0.
    return (
        SkewLimit(first.max_skew, domains.first == domains.first_counted >= first.min_domains),
        SkewLimit(second.max_skew, domains.second == domains.second_counted >= second.min_domains),
    )
