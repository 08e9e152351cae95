"""
The pod that a controller creates in place of another one: ``foresee_replacement``.

The controller creates it from a template, which may differ from the running pod: pods are resized,
webhooks change them, and a StatefulSet has a new revision. Only what kube-scheduler filters by is
compared. Where both differ, the replacement demands what both of them demand. What only the pod
has was added by admission, unless its revision is another one, and is added to the replacement too.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from webhook.cluster.scheduling.defaults import fill_in_defaults
from webhook.cluster.scheduling.podobjects import (
    ApiPod,
    Container,
    FilterSpec,
    ResourceRequirements,
    UniqueMeta,
)
from webhook.cluster.scheduling.pods import read_pod
from webhook.cluster.scheduling.quantities import parse_quantity
from webhook.policy.api.versions import Version
from webhook.policy.model import HONOR, IGNORE, Constraint
from webhook.policy.placement.filters.filterpods import AffinityTerm, FilterPod
from webhook.policy.placement.nodes import Toleration
from webhook.policy.placement.passingtaints import CONDITION_TAINTS
from webhook.policy.selectors import merge_match_label_keys, merge_stored_keys, render


class ControllerTemplate(NamedTuple):
    """
    The template from which a controller creates the replacement of a pod.

    Attributes:
        labels: What the controller adds to show the revision; empty if it is not known.
        claims: Names of the volumes that claim templates replace.
        is_other: Whether the running pod has another revision.
    """

    pod: ApiPod
    labels: Mapping[str, str] = {}
    claims: tuple[str, ...] = ()
    is_other: bool = False


class Replacement(NamedTuple):
    """
    The pod that a controller creates after an eviction, without a node.

    Attributes:
        constraints: Its own topology spread constraints.
        differences: What the template has in another way than the running pod, in words.
        has_preferences: Whether preferred affinity of the pod or of the template ranks nodes.
    """

    pod: FilterPod
    constraints: tuple[Constraint, ...]
    differences: tuple[str, ...] = ()
    has_preferences: bool = False


def foresee_replacement(
    pod: ApiPod, template: ControllerTemplate | None, version: Version
) -> Replacement:
    """
    Foresee the replacement of a pod.

    Args:
        pod: The running pod.
        template: None if it is not known; then the replacement is like the pod.
        version: Of the scheduler.
    """
    spec = replace(pod.spec or FilterSpec(), node_name="")
    if template is None or template.pod.spec is None:
        unbound = read_pod(replace(pod, spec=spec), version)
        return Replacement(unbound, pod.constraints, has_preferences=_has_preferences(spec))
    pair = _pair(replace(pod, spec=spec), template, version)
    constraints = tuple(_find_constraints(pair))
    differences = (
        *_describe_requests(pair),
        *_describe_demands(pair),
        *(f"constraint over {one.topology_key}" for one in constraints),
        *(_describe_removals(pair) if template.is_other else ()),
    )
    unique = tuple(dict.fromkeys(differences))
    prefers = _has_preferences(spec) or _has_preferences(template.pod.spec)
    return Replacement(_join(pair), (*pod.constraints, *constraints), unique, prefers)


def _has_preferences(spec: FilterSpec) -> bool:
    return spec.affinity is not None and spec.affinity.has_preferences


class _Pair(NamedTuple):
    """
    A running pod without its node, and the pod of a template.

    Attributes:
        pod: As stored.
        created: With the defaults of kube-apiserver.
        ours: The pod with the larger requests of both.
        theirs: The pod of the template.
        affinity: Required terms of the template that the pod lacks.
        repelling: Those of its anti-affinity.
    """

    template: ControllerTemplate
    pod: ApiPod
    created: ApiPod
    ours: FilterPod
    theirs: FilterPod
    affinity: tuple[AffinityTerm, ...]
    repelling: tuple[AffinityTerm, ...]


def _pair(pod: ApiPod, template: ControllerTemplate, version: Version) -> _Pair:
    written = _name_template(template, pod)
    created = fill_in_defaults(written)
    spec, wanted = pod.spec or FilterSpec(), created.spec or FilterSpec()
    merged = replace(pod, spec=_raise_requests(spec, wanted))
    ours, theirs, raw = (read_pod(one, version) for one in (merged, created, written))
    affinity = _find_terms(ours.affinity, theirs.affinity, raw.affinity)
    repelling = _find_terms(ours.anti_affinity, theirs.anti_affinity, raw.anti_affinity)
    return _Pair(template, pod, created, ours, theirs, affinity, repelling)


def _join(pair: _Pair) -> FilterPod:
    """Return the pod that demands what both demand."""
    ours, theirs = pair.ours, pair.theirs
    demands = replace(ours.demands.joined(theirs.demands), tolerations=_keep_tolerations(pair))
    return replace(
        ours,
        demands=demands,
        ports=tuple(dict.fromkeys((*ours.ports, *theirs.ports))),
        affinity=(*ours.affinity, *pair.affinity),
        anti_affinity=(*ours.anti_affinity, *pair.repelling),
        volumes=tuple(dict.fromkeys((*ours.volumes, *theirs.volumes))),
    )


def _name_template(template: ControllerTemplate, pod: ApiPod) -> ApiPod:
    """Return a template as the new pod of its controller, with the name of the present one."""
    metadata, spec = pod.metadata or UniqueMeta(), template.pod.spec or FilterSpec()
    labels = {**pod.labels, **template.pod.labels, **template.labels}
    volumes = tuple(one for one in spec.volumes or () if one.name not in template.claims)
    overhead = spec.overhead or (pod.spec.overhead if pod.spec else None)
    return replace(
        template.pod,
        metadata=replace(metadata, labels=labels),
        spec=replace(spec, volumes=volumes, overhead=overhead, node_name=""),
    )


def _raise_requests(spec: FilterSpec, wanted: FilterSpec) -> FilterSpec:
    """Return a specification that requests the larger of each resource of both."""
    return replace(
        spec,
        containers=_raise_containers(spec.containers, wanted.containers),
        init_containers=_raise_containers(spec.init_containers, wanted.init_containers),
        resources=_raise(spec.resources, wanted.resources),
    )


def _raise_containers(
    present: Iterable[Container] | None, wanted: Iterable[Container] | None
) -> tuple[Container, ...]:
    named = {one.name: one for one in present or ()}
    for one in wanted or ():
        known = named.get(one.name)
        if known is None:
            named[one.name] = replace(one, ports=None)  # ports are compared apart
        else:
            named[one.name] = replace(known, resources=_raise(known.resources, one.resources))
    return tuple(named.values())


def _raise(
    present: ResourceRequirements | None, wanted: ResourceRequirements | None
) -> ResourceRequirements | None:
    if wanted is None or not wanted.requests:
        return present
    present = present or ResourceRequirements()
    requests = dict(present.requests or {})
    for name, quantity in wanted.requests.items():
        requests[name] = max(requests.get(name), quantity, key=parse_quantity)
    return replace(present, requests=requests)


def _describe_requests(pair: _Pair) -> Iterator[str]:
    """Describe the requests of a template that a pod does not have."""
    has_defaults = pair.pod.metadata is not None and pair.pod.metadata.uid
    pod = pair.pod if has_defaults else fill_in_defaults(pair.pod)
    present, wanted = pod.spec or FilterSpec(), pair.created.spec or FilterSpec()
    for where, one, other in _pair_resources(present, wanted):
        had = (one.requests if one else None) or {}
        for name, quantity in ((other.requests if other else None) or {}).items():
            if parse_quantity(quantity) != parse_quantity(had.get(name)):
                yield f"{where} requests {name} {quantity}"


def _pair_resources(
    present: FilterSpec, wanted: FilterSpec
) -> Iterator[tuple[str, ResourceRequirements | None, ResourceRequirements | None]]:
    """Pair the resources of each container of a template, and of the pod as a whole."""
    named = {one.name: one.resources for one in _list_containers(present)}
    for one in _list_containers(wanted):
        yield f"container {one.name or ''}", named.get(one.name), one.resources
    yield "the pod", present.resources, wanted.resources


def _list_containers(spec: FilterSpec) -> Iterator[Container]:
    return chain(spec.containers or (), spec.init_containers or ())


def _describe_demands(pair: _Pair) -> Iterator[str]:
    """Describe what a template requires of nodes, and the pod does not."""
    ours, theirs = pair.ours, pair.theirs
    for key, value in theirs.demands.pairs:
        if (key, value) not in ours.demands.pairs:
            yield f"nodeSelector {key}={value}"
    if theirs.demands.terms not in (None, ours.demands.terms):
        yield "required node affinity"
    tolerated = set(map(_identify_toleration, ours.demands.tolerations or ()))
    for one in theirs.demands.tolerations or ():
        if _identify_toleration(one) not in tolerated:
            yield f"toleration of {one.key or 'all taints'}"
    if pair.affinity:
        yield "required pod affinity"
    if pair.repelling:
        yield "required pod anti-affinity"
    yield from (f"host port {one.port}" for one in theirs.ports if one not in ours.ports)
    yield from (f"volume {one.name}" for one in theirs.volumes if one not in ours.volumes)


def _describe_removals(pair: _Pair) -> Iterator[str]:
    """Describe what the pod of another revision has, and the template does not have."""
    ours, theirs = pair.ours, pair.theirs
    for key, value in ours.demands.pairs:
        if (key, value) not in theirs.demands.pairs:
            yield f"no nodeSelector {key}={value}"
    if theirs.demands.terms is None and ours.demands.terms is not None:
        yield "no required node affinity"
    kept = _keep_tolerations(pair)
    for one in ours.demands.tolerations or ():
        if one not in kept:
            yield f"no toleration of {one.key or 'all taints'}"
    if ours.affinity and not theirs.affinity:
        yield "no required pod affinity"
    if ours.anti_affinity and not theirs.anti_affinity:
        yield "no required pod anti-affinity"
    created = merge_match_label_keys(pair.created.constraints, pair.created.labels)
    known = set(map(_identify, created))
    for constraint in merge_stored_keys(pair.pod.constraints, pair.pod.labels):
        # without any, those of the pod are default constraints of admission
        if known and _identify(constraint) not in known:
            yield f"no constraint over {constraint.topology_key}"


def _keep_tolerations(pair: _Pair) -> tuple[Toleration, ...]:
    """Return the tolerations of a pod that its replacement has for sure."""
    tolerations = pair.ours.demands.tolerations or ()
    if not pair.template.is_other:
        return tolerations
    kept = set(map(_identify_toleration, pair.theirs.demands.tolerations or ()))
    return tuple(
        one
        for one in tolerations
        if _identify_toleration(one) in kept or one.key in CONDITION_TAINTS
    )


def _identify_toleration(one: Toleration) -> object:
    return one.key or "", one.operator or "Equal", one.value or "", one.effect or ""


def _find_terms(
    known: tuple[AffinityTerm, ...],
    created: tuple[AffinityTerm, ...],
    written: tuple[AffinityTerm, ...],
) -> tuple[AffinityTerm, ...]:
    """Find the terms of a template that a pod lacks, with keys of labels merged or not."""
    identities = {term.identity for term in known}
    return tuple(
        term
        for term, raw in zip(created, written, strict=True)
        if identities.isdisjoint((term.identity, raw.identity))
    )


def _find_constraints(pair: _Pair) -> Iterator[Constraint]:
    """Find the constraints of a template that a pod lacks, with their keys of labels merged."""
    known = set(map(_identify, merge_stored_keys(pair.pod.constraints, pair.pod.labels)))
    merged = merge_match_label_keys(pair.created.constraints, pair.created.labels)
    yield from (one for one in merged if _identify(one) not in known)


def _identify(one: Constraint) -> object:
    """Return what is equal for constraints that kube-scheduler does not tell apart."""
    policies = one.node_affinity_policy or HONOR, one.node_taints_policy or IGNORE
    skews = one.max_skew, one.min_domains or 1
    selector = None if one.label_selector is None else render(one.label_selector)
    return one.topology_key, one.when_unsatisfiable, skews, policies, selector
