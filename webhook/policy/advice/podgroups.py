"""
PodGroups, reduced to what decides where their pods run together.

``PodGroup`` is a fact of an audit; objects are decoded in ``webhook.cluster.podgroups``.
"""

import msgspec


class PodGroup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A PodGroup of kube-scheduler.

    Attributes:
        keys: The topology keys of its constraints: for each of them, all pods run in one domain.
        gang: Whether its pods are scheduled all together or not at all, unlike with the policy
            ``basic``.
    """

    namespace: str
    name: str
    keys: tuple[str, ...] = ()
    gang: bool = True
