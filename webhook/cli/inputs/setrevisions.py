"""
The revisions of a StatefulSet's next pods, by their ordinals.

Entry point: ``SetRevisions``. Below the partition, new pods have the current revision, whose pod
template is in a ControllerRevision; the running pods of that revision show it as well.

Source: kubernetes pkg/controller/statefulset stateful_set_control.go ``getStatefulSetRevisions``,
stateful_set_utils.go ``newVersionedStatefulSetPod``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.manifestcluster import Json
from webhook.cli.inputs.revisions import NextRevision, find_stored, is_unchanged
from webhook.cluster.protocol import FailureReason
from webhook.errors import ApiError
from webhook.explain.newpods import NewPod, PodSuccession
from webhook.policy.kinds import CONTROLLER_REVISION, POD
from webhook.policy.nextrevision import find_free_ordinal, find_ordinals, read_partitioned
from webhook.policy.paths import LIST_NAME, find_value, is_array, is_object, replace_value
from webhook.policy.placement.census import ObservedPod
from webhook.policy.podlabels import PER_POD_KEYS, REVISION_HASH, REVISION_KEYS
from webhook.policy.templatematch import is_same_template

_TEMPLATE = ("spec", "template")


class SetRevisions:
    """The revisions of the next pods of a StatefulSet; facts are read on demand."""

    def __init__(
        self,
        subject: subjects.ExplainSubject,
        replicas: Sequence[ObservedPod],
        cluster: ClusterReader,
    ) -> None:
        """
        Store the sources.

        Args:
            replicas: The pods of the StatefulSet.
        """
        self._subject, self._replicas, self._cluster = subject, replicas, cluster
        self._stored = find_stored(subject, cluster)
        shown = self._stored or subject.value
        self._partitioned = read_partitioned({**shown, "spec": subject.value.get("spec")})
        self._created = find_value(shown, ("status", "replicas"))

    @property
    def start(self) -> int:
        """The first ordinal."""
        return self._partitioned.start

    @property
    def next_ordinal(self) -> int:
        """The ordinal of the next pod: the first one without a pod."""
        names = (pod.metadata.name or "" for pod in self._replicas)
        return find_free_ordinal(self.start, find_ordinals(names))

    def find_used(self, names: Iterable[str]) -> range:
        """
        Find the ordinals that have had a pod, as the status and the pods show.

        The controller creates a pod after those with lower ordinals, or together with them.

        Args:
            names: Of the pods of the StatefulSet, also of those that have ended.
        """
        number = self._created if isinstance(self._created, int) else 0
        return range(self.start, max((self.start + number - 1, *find_ordinals(names))) + 1)

    @property
    def unknown(self) -> str:
        """The revision of the pods below the partition if its template is not known, or empty."""
        return self._current.unknown if self._partitioned.partition else ""

    def at(self, ordinal: int) -> NextRevision:
        """Find the revision of the new pod with an ordinal."""
        return self._current if self._partitioned.is_below(ordinal) else self._updated

    @cached_property
    def _updated(self) -> NextRevision:
        """The revision with the template of the subject."""
        subject, stored, shown = self._subject, self._stored, self._partitioned.updated
        is_kept = stored is None or is_unchanged(subject, stored)
        if shown and is_kept:
            return NextRevision(subject, shown)
        template = find_value(subject.value, _TEMPLATE)
        for name, kept in self._history.items():
            if is_same_template(kept, template):
                return NextRevision(subject, {REVISION_HASH: name})
        return NextRevision(subject, is_new=bool(self._history) or not is_kept)

    @cached_property
    def _current(self) -> NextRevision:
        """The revision of the pods below the partition."""
        label = self._partitioned.current
        if not label or label == self._updated.labels:
            return self._updated
        template = self._find_template(label)
        if template is None:
            return NextRevision(self._subject, label, unknown=label[REVISION_HASH])
        value = replace_value(self._subject.value, _TEMPLATE, template)
        return NextRevision(replace(self._subject, value=value), label)

    def _find_template(self, label: Mapping[str, str]) -> Json | None:
        """Find the template of an older revision."""
        if label == self._partitioned.updated:
            kept = find_value(self._stored, _TEMPLATE)
            return kept if is_object(kept) else None
        found = self._history.get(label[REVISION_HASH])
        if found is not None:
            return found
        names = (pod.metadata.name or "" for pod in self._replicas if _has_labels(pod, label))
        pods = (self._cluster.find(POD, self._subject.namespace, name) for name in names)
        return next((restore_template(pod) for pod in pods if pod and _is_whole(pod)), None)

    @cached_property
    def _history(self) -> dict[str, Json]:
        """Revision -> its pod template, the newest first; empty if the user may not read them."""
        try:
            owned = subjects.list_controlled(CONTROLLER_REVISION, self._subject, self._cluster)
        except ApiError as error:
            if error.reason is not FailureReason.FORBIDDEN:
                raise
            return {}
        owned.sort(key=_number_of, reverse=True)
        templates = ((one, find_value(one, ("data", *_TEMPLATE))) for one in owned)
        return {
            subjects.name_of(one): _drop_directive(kept)
            for one, kept in templates
            if is_object(kept)
        }


def list_new_pods(
    subject: subjects.ExplainSubject,
    revisions: SetRevisions,
    foresee: Callable[[NextRevision, int], NewPod],
) -> PodSuccession:
    """List the new pods of a StatefulSet."""

    @cache
    def build(ordinal: int) -> NewPod:
        return foresee(revisions.at(ordinal), ordinal)

    policy = find_value(subject.value, ("spec", "podManagementPolicy"))
    return PodSuccession(build, revisions.start, is_parallel=policy == "Parallel")


def _has_labels(pod: ObservedPod, labels: Mapping[str, str]) -> bool:
    return labels.items() <= (pod.metadata.labels or {}).items()


def _drop_directive(patch: Json) -> Json:
    """Return a template without the member that makes it a strategic merge patch."""
    return {key: value for key, value in patch.items() if key != "$patch"}


def _is_whole(pod: Json) -> bool:
    """Whether a pod shows its specification, as one of an abridged dump does not."""
    return any(find_value(pod, ("spec", name)) for name in ("containers", LIST_NAME))


def _number_of(revision: Json) -> int:
    number = revision.get("revision")
    return number if isinstance(number, int) else 0


def restore_template(pod: Json) -> Json:
    """
    Restore the template of a StatefulSet's pod, as far as the pod shows it.

    Left out are its node, the labels that the controller adds, and what kube-apiserver adds to the
    selectors of its constraints for their matchLabelKeys.
    """
    labels = find_value(pod, ("metadata", "labels"), {})
    added = {*REVISION_KEYS, *PER_POD_KEYS}
    metadata = {
        "labels": {key: value for key, value in labels.items() if key not in added},
        "annotations": find_value(pod, ("metadata", "annotations"), {}),
    }
    spec = {key: value for key, value in pod.get("spec", {}).items() if key != "nodeName"}
    constraints = spec.get(LIST_NAME)
    if is_array(constraints):
        spec[LIST_NAME] = list(map(_drop_merged, constraints))
    return {"metadata": metadata, "spec": spec}


def _drop_merged(constraint: Any) -> Any:
    """
    Return a constraint without the expressions of its matchLabelKeys.

    Source: pkg/registry/core/pod/strategy.go ``applyMatchLabelKeysInTopologySpread``.
    """
    path = ("labelSelector", "matchExpressions")
    found = find_value(constraint, path)
    if not is_array(found):
        return constraint
    keys = constraint.get("matchLabelKeys") or ()
    own = [one for one in found if find_value(one, ("key",)) not in keys]
    return replace_value(constraint, path, own)
