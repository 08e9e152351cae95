"""
Why a filter rejects a node or a pod, and the check of a filter: ``FilterRejection`` and ``Check``.

Source: kube-scheduler framework/interface.go ``Status``.
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from webhook.policy.model import Node


class FilterRejection(msgspec.Struct, frozen=True):
    """
    Why a filter rejects a node, or a pod whatever the node.

    Attributes:
        plugin: Name of the filter.
        reasons: In kube-scheduler's words; at least one.
        is_resolvable: Whether the removal of pods can help: Unschedulable, and not
            UnschedulableAndUnresolvable.
    """

    plugin: str
    reasons: tuple[str, ...]
    is_resolvable: bool = True


Check: TypeAlias = Callable[[Node], FilterRejection | None]
"""Returns why a filter rejects a node; None if it does not."""
