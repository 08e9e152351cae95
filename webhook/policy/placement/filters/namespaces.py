"""
Labels of the Namespaces that terms of pod affinity select: ``complete_namespaces``.

kube-apiserver gives each Namespace the label ``NAME_LABEL``, so that one is always known. The other
labels of a Namespace that was not read are not: ``find_unlabelled`` finds where these matter.
"""

from collections.abc import Iterable, Iterator, Mapping

from webhook.policy.model import NAME_LABEL
from webhook.policy.placement.filters.filterpods import AffinityTerm, FilterPod
from webhook.policy.placement.filters.placedpods import PlacedPods
from webhook.policy.selectors import matches, selected_keys

Namespaces = Mapping[str, Mapping[str, str]]
"""Name -> labels of the Namespace."""


def complete_namespaces(known: Namespaces, names: Iterable[str]) -> Namespaces:
    """
    Add Namespaces that are not known, with the label that each has.

    Args:
        names: The namespaces of pods.

    Source: pkg/apis/core/v1/defaults.go ``SetDefaults_Namespace``.
    """
    return {**{name: {NAME_LABEL: name} for name in names}, **known}


def find_unlabelled(
    pods: Iterable[FilterPod], placed: PlacedPods, known: Namespaces
) -> frozenset[str]:
    """
    Find the namespaces that a term selects or not by labels that are not known.

    Args:
        pods: The pods to place; O(pods x terms).
        placed: The pods that have a node.
        known: The Namespaces that were read.
    """
    return frozenset(
        name for pod in pods for name in _find_unlabelled(pod, placed) if name not in known
    )


def _find_unlabelled(pod: FilterPod, placed: PlacedPods) -> Iterator[str]:
    """Yield the namespaces whose labels decide whether a pod and one on a node are in a term."""
    own = tuple(filter(_needs_labels, (*pod.affinity, *pod.anti_affinity)))
    for term in own:
        for census in (placed.census, placed.terminating):
            names = (name for name in census.namespaces if name not in term.namespaces)
            yield from (name for name in names if any(census.select(name, term.selector)))
    others = (one.term for one in placed.anti_affinity(pod.namespace))
    for term in (*own, *filter(_needs_labels, others)):
        if pod.namespace not in term.namespaces and matches(term.selector, pod.labels):
            yield pod.namespace


def _needs_labels(term: AffinityTerm) -> bool:
    """Whether a term selects namespaces by other labels than their name."""
    return not selected_keys(term.namespace_selector) <= {NAME_LABEL}
