"""Running pods with the defaults of a profile, and what an audit knows of them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tests.build import CONTROLLERS, NAMESPACE, FakeFacts, Json, default, policy, profile, spread
from tests.policy.advice.subjects import THREE, audit, running
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.model import Constraint, LabelSelector, Node, ObjectMeta, OwnerReference

HASH = "pod-template-hash"
HARD = default(when_unsatisfiable="DoNotSchedule")


def giving(*constraints: Constraint, **changes: Any) -> Policy:
    """Make a policy whose profile gives these constraints; a hard one over zones without any."""
    return policy(profile(constraints=constraints or (HARD,), **changes))


def defaulted(
    *nodes: str,
    revision: str = "new",
    kind: str = "ReplicaSet",
    constraints: Sequence[Json] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: dict[str, str] | None = None,
) -> RunningPods:
    """Make pods of a revision; with a hard constraint over zones for it, if not otherwise."""
    carried = {"app": "web", HASH: revision, **(labels or {})}
    written = (counting(revision),) if constraints is None else constraints
    group = running(*nodes, labels=carried, constraints=written)
    owner = OwnerReference(CONTROLLERS[kind], kind, f"web-{revision}", controller=True)
    metadata = ObjectMeta(labels=carried, annotations=annotations or {}, owner_references=(owner,))
    return replace(group, pod=replace(group.pod, metadata=metadata))


def counting(revision: str = "new", **changes: Any) -> Json:
    """Make a constraint that counts the pods of a revision alone."""
    return spread(labelSelector={"matchLabels": {"app": "web", HASH: revision}}, **changes)


def know(
    config: Policy, pods: Sequence[RunningPods], nodes: Sequence[Node] = THREE
) -> AdviceContext:
    """Make what an audit knows of pods, and of their controllers."""
    owners = {
        (NAMESPACE, owner.api_version, owner.kind, owner.name): LabelSelector(
            {key: group.pod.labels[key] for key in ("app", HASH)}
        )
        for group in pods
        if group.pod.metadata is not None
        for owner in group.pod.metadata.owner_references
    }
    context = audit(nodes, pods, config=config)
    return dataclasses.replace(context, facts=FakeFacts(nodes=nodes, owners=owners))
