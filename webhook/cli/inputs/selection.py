"""
Selection of the objects to explain: words as kubectl takes them, manifests, and a cluster.

``SubjectSelector.select`` is the entry point. An object that cannot be found or read becomes a
problem of the inputs, and the others are still explained.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.facts import FactsSources
from webhook.cli.inputs.kindnames import Templates, find_kinds
from webhook.cli.inputs.labelselectors import selects
from webhook.cli.inputs.manifests import WORKLOAD, Inputs
from webhook.cli.inputs.namespaces import require_namespace
from webhook.cli.inputs.references import follow_reference
from webhook.cli.inputs.subjects import (
    ExplainSubject,
    controller_of,
    explain_missing_name,
    find,
    find_in_manifests,
    labels_of,
    list_subjects,
    namespace_of,
)
from webhook.cli.inputs.unknownsubjects import suggest_subjects
from webhook.cluster.protocol import FailureReason
from webhook.errors import ApiError, ConfigError, SourceError
from webhook.manifests import Document
from webhook.policy.model import GroupKind, LabelSelector, group_of
from webhook.policy.podlabels import find_owner_by_labels
from webhook.policy.selectors import SELECT_ALL

_ELSEWHERE = "name its file with -f, or read the cluster with --live"


def join_words(words: Sequence[str], templates: Templates) -> tuple[str, ...]:
    """
    Turn words into subjects: for kubectl, ``deploy web api`` is the same as deploy/web deploy/api.

    Raises:
        ConfigError: A kind has no names, or names with kinds.
    """
    if not words or "/" in words[0] or not find_kinds(words[0], templates):
        return tuple(words)
    kind, *names = words
    if not names:
        raise ConfigError(explain_missing_name(kind, templates), kind)
    if mixed := next((name for name in names if "/" in name), None):
        raise ConfigError(f"{kind!r} already names the kind: leave it out, or {mixed!r}", mixed)
    return tuple(f"{kind}/{name}" for name in names)


def parse_kinds(words: Sequence[str], templates: Templates) -> Templates:
    """
    Find the kinds whose objects ``-l`` selects: ``deploy sts`` or ``deploy,sts``; all for no words.

    Raises:
        ConfigError: A word names no kind: kubectl, too, accepts either names or labels.
    """
    if not words:
        return templates
    chosen: list[GroupKind] = []
    for word in ",".join(words).split(","):
        kinds = find_kinds(word, templates)
        if not kinds:
            raise ConfigError("is not a kind: name objects, or select them with -l", repr(word))
        chosen += kinds
    return {kind: templates[kind] for kind in chosen}


@dataclass(frozen=True)
class SubjectSelector:
    """
    Selects objects from the files of ``-f``, and by name from all sources.

    Attributes:
        inputs: The files; receives problems.
        documents: Their objects.
        sources: The other sources, which ``cluster`` reads together with the files.
        namespace: Namespace of objects that name none.
        labels: Selects objects of other sources than the files; ``documents`` are selected already.
        everywhere: Whether labels select in all namespaces.
    """

    inputs: Inputs
    documents: Sequence[Document]
    sources: FactsSources
    templates: Templates
    namespace: str
    cluster: ClusterReader
    labels: LabelSelector = SELECT_ALL
    everywhere: bool = False

    def select(self, words: Sequence[str]) -> list[ExplainSubject]:
        """
        Select the objects, with their pod templates.

        Args:
            words: Such as ``deploy/web``, or kinds to select from by labels; none for all objects
                of the files, or for all that the labels select.

        Raises:
            ConfigError: A word cannot be parsed.
            ApiError: The API server cannot be reached.
        """
        if self.labels == SELECT_ALL:
            found = list(map(self._find, join_words(words, self.templates) or ("",)))
        else:
            found = [self._find_labelled(words)]
        selected: list[ExplainSubject] = []
        find = self.cluster.find
        for subjects in found:
            with self.recorded_errors():
                for subject in subjects:
                    with self.recorded_errors():
                        selected.append(follow_reference(subject, self.templates, find))
        return selected

    @contextmanager
    def recorded_errors(self) -> Generator[None]:
        """Make an error about one object a problem; an unreachable API server ends the command."""
        try:
            yield
        except ApiError:
            raise
        except SourceError as error:
            self.inputs.problems.append(error)

    def _find(self, written: str) -> Iterator[ExplainSubject]:
        """Find the objects in the files; one that is not there in the other sources, if any."""
        found = list(find_in_manifests(self.documents, written, self.namespace, self.templates))
        yield from found if written else self._without_managed(found)
        if found:
            return
        if written and (self.sources.paths or self.sources.live):
            yield from find(written, self.namespace, self.templates, self.cluster)
            return
        require_namespace(self.namespace, self.cluster.namespaces())
        where = ", ".join(self.inputs.paths)
        if not written:
            raise SourceError(where, f"contains no {WORKLOAD}")
        advice = self._suggest(written)
        if advice and "/" not in written:
            raise SourceError(f"{where}: {written}", f"names no kind: {advice}")
        elsewhere = f"{advice}, or {_ELSEWHERE}" if advice else _ELSEWHERE
        advice = advice if advice.endswith("?") else elsewhere
        raise SourceError(where, f"contains no {written} with a pod template: {advice}")

    def _suggest(self, written: str) -> str:
        """Suggest objects of the files in place of one that they do not contain."""
        having = (one for one in self.documents if one.group_kind in self.templates)
        known = ((one.group_kind, one.name) for one in having)
        return suggest_subjects(written, known, self.templates)

    def _find_labelled(self, words: Sequence[str]) -> Iterator[ExplainSubject]:
        """Find the objects of kinds in the files; without files, in the other sources."""
        kinds = parse_kinds(words, self.templates)
        if self.inputs.paths:
            found = list(find_in_manifests(self.documents, "", self.namespace, kinds))
            found = found if words else self._without_managed(found)
        else:
            listed = (subject for kind in kinds for subject in self._list_labelled(kind))
            found = [subject for subject in listed if words or self._has_no_workload(subject)]
        yield from found
        if found:
            return
        require_namespace(self.namespace, self.cluster.namespaces())
        inside = "the cluster" if self.everywhere else f"namespace {self.namespace}"
        where = ", ".join(self.inputs.paths) or inside
        what = " or ".join(dict.fromkeys(kind.kind for kind in kinds)) if words else WORKLOAD
        raise SourceError(where, f"contains no {what} whose labels match -l")

    def _list_labelled(self, kind: GroupKind) -> Iterator[ExplainSubject]:
        """List the objects of a kind; one that the user may not list becomes a problem."""
        try:
            values = self.cluster.list_objects_of(kind, "" if self.everywhere else self.namespace)
        except ApiError as error:
            if error.reason is not FailureReason.FORBIDDEN:
                raise
            self.inputs.problems.append(error)
            return
        places = self.templates[kind]
        for value in values:
            if selects(self.labels, value):
                inside = namespace_of(value) or self.namespace
                yield from list_subjects(kind, places, inside, value, exists=True)

    def _without_managed(self, found: Sequence[ExplainSubject]) -> list[ExplainSubject]:
        """
        Leave out the objects that another workload of the files manages.

        In a dump, that workload stands for its ReplicaSets and for its pods, also Pending ones.
        """
        known = {
            (one.namespace or self.namespace, one.group_kind, one.name)
            for one in self.documents
            if one.group_kind in self.templates
        }
        return [subject for subject in found if known.isdisjoint(_list_owners(subject))]

    def _has_no_workload(self, subject: ExplainSubject) -> bool:
        """Whether no other workload manages the object, as a Deployment does its ReplicaSets."""
        owner = controller_of(subject.value)
        return owner is None or GroupKind(group_of(owner.api_version), owner.kind) not in (
            self.templates
        )


def _list_owners(subject: ExplainSubject) -> Iterator[tuple[str, GroupKind, str]]:
    """Yield the namespace, kind and name of the controller of an object, and of that one's own."""
    owner = controller_of(subject.value)
    if owner is None:
        return
    kind = GroupKind(group_of(owner.api_version), owner.kind)
    yield subject.namespace, kind, owner.name
    if above := find_owner_by_labels(kind, owner.name, labels_of(subject.value)):
        yield subject.namespace, *above
