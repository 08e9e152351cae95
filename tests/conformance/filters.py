"""Conformance cases of filters: what kube-scheduler answers to a pod, node by node."""

import dataclasses

import msgspec
from msgspec.structs import replace

from tests.conformance.case import Answer, Case
from webhook.cluster.scheduling.defaults import fill_in_defaults
from webhook.cluster.scheduling.nominees import read_nominees
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.pods import read_pod
from webhook.cluster.scheduling.snapshot import ClusterObjects, read_cluster
from webhook.policy.api import gates
from webhook.policy.api.versions import parse_version
from webhook.policy.placement.filters.failure import describe_failure
from webhook.policy.placement.filters.run import filter_nodes
from webhook.policy.placement.spreads import resolve_constraints

RECORDED = "1.36"  # what a case without a version was recorded from


def answer(case: Case) -> Answer:
    """
    Answer one case.

    Args:
        case: ``pod``, ``cluster``, and perhaps ``kubernetes``.

    Returns:
        ``nodes``: the reasons of each node that is rejected; ``message``, empty if the pod fits.
    """
    version = parse_version(case.get("kubernetes", RECORDED))
    objects = _store(msgspec.convert(case["cluster"], ClusterObjects))
    written = fill_in_defaults(msgspec.convert(case["pod"], ApiPod))
    priority = (written.spec and written.spec.priority) or 0
    cluster = dataclasses.replace(
        read_cluster(objects, version),
        nominated=read_nominees(objects.pods or (), priority, version),
    )
    # The defaults of the default profile are all ScheduleAnyway, which rejects no node.
    spreads = resolve_constraints(written.constraints, written.labels, gates.resolve(version, {}))
    result = filter_nodes(read_pod(written, version), spreads.hard, cluster)
    rejections = result.rejections.items()
    return {
        "nodes": {name: list(rejection.reasons) for name, rejection in rejections},
        "message": describe_failure(result),
    }


def _store(cluster: ClusterObjects) -> ClusterObjects:
    """Fill in what kube-apiserver adds to the pods of a case."""
    return replace(cluster, pods=tuple(map(fill_in_defaults, cluster.pods or ())))
