"""
Whether a pod gets a rank when it is bound to a node; use ``judge_binding``.

The API server copies the annotations of a Binding to the pod, so that a rank costs no write of its
own.

Source: k8s.io/api core/v1 ``Binding``; pkg/registry/core/pod/storage ``assignPod``.
"""

from enum import StrEnum

import msgspec

from webhook.policy.scaledown.ranks import UNRANKED


class BindingResult(StrEnum):
    """Result of a binding; label of ``evenspread_bindings_total``."""

    RANKED = "ranked"
    DRY_RUN = "dry-run"
    OFF = "off"
    NOT_LISTED = "not-listed"
    UNKNOWN_POD = "unknown-pod"
    HAS_COST = "has-cost"
    BOUND = "bound"
    NO_DOMAIN = "no-domain"
    RECOMMEND_MODE = "recommend-mode"


class Binding(msgspec.Struct, frozen=True, gc=False):
    """
    The binding of a pod to a node.

    Attributes:
        node: Name of the node.
        annotated: Whether the Binding has annotations.
        has_cost: Whether one of them is a deletion cost.
    """

    node: str
    annotated: bool = False
    has_cost: bool = False


class RankedPod(msgspec.Struct, frozen=True, gc=False):
    """
    A live pod whose spread its controller is to keep.

    Attributes:
        key: From ``ranking_key``; empty if the pod has no constraint.
        node: Name of its node; empty until it is bound.
        rank: ``UNRANKED`` without a deletion cost, ``FOREIGN_COST`` with one that is no rank.
    """

    key: str
    node: str = ""
    rank: int = UNRANKED


class Ranking(msgspec.Struct, frozen=True, gc=False):
    """
    What happened to a binding.

    Attributes:
        domain: The topology domain of the node, if the pod got a rank.
        rank: The pod's rank in the domain; ``UNRANKED`` if it got none.
    """

    result: BindingResult
    domain: str = ""
    rank: int = UNRANKED


def judge_binding(
    *, binding: Binding, pod: RankedPod | None, domain: str | None, recommends: bool, dry_run: bool
) -> BindingResult:
    """
    Decide whether a pod gets a rank.

    Args:
        binding: The requested binding.
        pod: The pod in the cache; None if it is not there.
        domain: The domain of the node by the pod's key; None without one.
        recommends: Whether the policy is in recommend mode, which patches nothing.
        dry_run: Whether the API server will not store the binding.

    Returns:
        ``RANKED`` if it gets one, else the reason why not; never ``OFF`` or ``NOT_LISTED``.
    """
    if dry_run:
        return BindingResult.DRY_RUN
    if binding.has_cost or (pod is not None and pod.rank != UNRANKED):
        return BindingResult.HAS_COST
    if pod is None:
        return BindingResult.UNKNOWN_POD
    if pod.node:  # the API server would refuse it, and a reservation would take a rank for nothing
        return BindingResult.BOUND
    if domain is None:
        return BindingResult.NO_DOMAIN
    return BindingResult.RECOMMEND_MODE if recommends else BindingResult.RANKED
