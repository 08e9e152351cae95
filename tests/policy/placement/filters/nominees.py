"""Clusters with pods that are nominated for nodes."""

import dataclasses
from collections.abc import Sequence

from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod


def nominate(scene: SchedulingCluster, **pods: Sequence[FilterPod]) -> SchedulingCluster:
    """Return the cluster with pods that are nominated for nodes: node name -> pods."""
    return dataclasses.replace(scene, nominated=pods)
