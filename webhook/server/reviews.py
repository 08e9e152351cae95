"""
Reviews: the facts of one, its verdict, and the bytes of the response.

``fetch``, then ``decide`` are the entry points, without HTTP. What verdicts depend on is a
``ReviewContext``, which a reload replaces.
"""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import NamedTuple, TypeAlias

from webhook import admission
from webhook.cluster.pods import PodStore
from webhook.policy import probe
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.facts import Facts
from webhook.policy.patch import add_rank
from webhook.policy.request import AdmissionRequest, AnyHook, Hook
from webhook.policy.scaledown.binding import BindingResult, Ranking, judge_binding
from webhook.policy.verdict import UNTOUCHED, Verdict, judge
from webhook.server.review_thread import Freeze

Fetch: TypeAlias = Callable[[AdmissionRequest, Policy, float], Awaitable[Facts] | None]
"""
Gets facts that the caches lack for a request; None if there is nothing to wait for.

Takes the timeout of the caller in seconds; raises NotSyncedError while there are no facts at all.
"""

FindRanks: TypeAlias = Callable[[], PodStore | BindingResult]
"""Returns the store that ranks pods, or why there is none now: ``OFF`` or ``NOT_LISTED``."""


POD_SHARE = 0.25  # of a binding's timeout, spent at most on waiting for its pod


def nothing_to_fetch(_request: AdmissionRequest, _policy: Policy, _timeout: float) -> None:
    """Fetch nothing, because all facts come from files."""


def no_ranks() -> BindingResult:
    """Rank no pods."""
    return BindingResult.OFF


class ReviewContext(NamedTuple):
    """
    What verdicts depend on besides the request.

    Attributes:
        policy: The policy in force.
        facts: The known facts of the cluster.
        fetch: Called before each verdict on an object.
        probe_verdict: The verdict on probes, from ``webhook.policy.probe.build_probe_verdict``.
        freeze: Creates a context in which the facts do not change, for the thread that reads them.
        find_ranks: Called for each binding.
    """

    policy: Policy
    facts: Facts
    fetch: Fetch = nothing_to_fetch
    probe_verdict: Verdict = UNTOUCHED
    freeze: Freeze = nullcontext
    find_ranks: FindRanks = no_ranks


def decode_only(bodies: list[bytes | bytearray], policy: Policy) -> AdmissionRequest:
    """Decode the only body in a list, and remove it so that its memory is freed meanwhile."""
    return admission.decode(bodies.pop(), policy.pod_templates)


def fetch(
    request: AdmissionRequest, hook: AnyHook, context: ReviewContext, timeout: float
) -> Awaitable[Facts | None] | None:
    """
    Get facts that the caches lack; None if there is nothing to wait for.

    A binding waits only for its pod, and not for long: without facts, a pod is bound without a
    rank.

    Returns:
        The facts for the verdict; None if those of the context are current afterwards.

    Raises:
        NotSyncedError: There are no facts at all yet.
    """
    if not isinstance(hook, Hook):
        return _wait_for_pod(request, context, timeout * POD_SHARE)
    return context.fetch(request, context.policy, timeout)


def _wait_for_pod(
    request: AdmissionRequest, context: ReviewContext, seconds: float
) -> Awaitable[None] | None:
    """Wait for a pod that is bound before the watch shows it; None if there is no need."""
    if request.binding is None or request.dry_run or request.binding.has_cost:
        return None
    ranks = context.find_ranks()
    if isinstance(ranks, BindingResult) or ranks.find(request.namespace, request.name) is not None:
        return None
    return ranks.late.wait(request.namespace, request.name, seconds)


def decide(
    request: AdmissionRequest, hook: AnyHook, context: ReviewContext
) -> tuple[Verdict, bytes]:
    """Judge a request and write the response."""
    if not isinstance(hook, Hook):
        verdict = _rank(request, context)
    else:
        probed = probe.judge_probe(request, hook, context.probe_verdict)
        verdict = probed or judge(request, hook, context.policy, context.facts)
    return verdict, admission.encode(request, verdict)


_UNRANKED = {
    result: Verdict(
        ranking=Ranking(result),
        held="patch" if result is BindingResult.RECOMMEND_MODE else "",
        recurs=True,
    )
    for result in BindingResult
}
"""The verdicts on bindings without a rank."""


def _rank(request: AdmissionRequest, context: ReviewContext) -> Verdict:
    """Give a pod that is being bound a rank in the domain of its node."""
    binding = request.binding
    if binding is None:
        return UNTOUCHED
    ranks = context.find_ranks()
    if isinstance(ranks, BindingResult):
        return _UNRANKED[ranks]
    pod = ranks.find(request.namespace, request.name)
    domain = None if pod is None else ranks.domain(binding.node, pod.key)
    recommends = context.policy.mode is Mode.RECOMMEND
    result = judge_binding(
        binding=binding, pod=pod, domain=domain, recommends=recommends, dry_run=request.dry_run
    )
    if result is not BindingResult.RANKED or domain is None:
        return _UNRANKED[result]
    rank = ranks.reserve(request.namespace, request.name, domain)
    patch = tuple(add_rank(binding, rank))
    return Verdict(patch=patch, ranking=Ranking(result, domain, rank))
