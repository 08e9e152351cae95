"""
Manifests that ``-f`` and ``--facts`` name: their objects and their problems.

Entry points: ``Inputs`` reads objects, ``InputFiles`` whole files.
"""

from collections.abc import Container, Iterable, Iterator, Mapping

from webhook.audit.strict import name_lines
from webhook.cli.inputs.kustomize import KustomizeFolder, build
from webhook.cli.inputs.unknowntemplates import TemplateKey, TemplateReferences
from webhook.cli.output import report_problems, report_skipped, write_stderr
from webhook.config.project import Project
from webhook.config.spreadpolicies import SPREAD_POLICY
from webhook.errors import SourceError
from webhook.fix.atomic import OriginalFile
from webhook.manifests import Document, SkippedSource, expand, files, read_documents, read_objects
from webhook.manifests.pathfilter import NO_FILTER, PathFilter
from webhook.policy.model import GroupKind
from webhook.policy.paths import FieldPath, TemplatePath, is_constraint_list
from webhook.policy.places import TemplatePlaces, as_pattern, list_patterns
from webhook.policy.unjudged import (
    describe_unjudged,
    find_unjudged_lists,
    has_known_places,
)

STDIN_SOURCE = files.source_of(files.STDIN)

_KUSTOMIZE = "kustomize.config.k8s.io"  # the API group of kustomizations and their components

WORKLOAD = "object with a pod template"  # what every command with manifests works on


def name_judged(templates: Mapping[GroupKind, TemplatePlaces]) -> str:
    """Name what a command works on: also ``constraintLists``, if the configuration has some."""
    paths = (path for places in templates.values() for path in list_patterns(places))
    return f"{WORKLOAD} or a constraint list" if any(map(is_constraint_list, paths)) else WORKLOAD


class Inputs:
    """
    Files, folders and the standard input, read once.

    Attributes:
        paths: The values of ``-f``.
        problems: What could not be read.
        skipped: Files without manifests.
        namespaces: Those of the objects read so far; empty for objects that name none.
        policies: The SpreadPolicies among these objects.
    """

    def __init__(
        self,
        paths: Iterable[str],
        *,
        strict: bool = False,
        unpack: files.Unpacker = expand,
        project: Project | None = None,
        judged: Mapping[GroupKind, TemplatePlaces] | None = None,
    ) -> None:
        """
        Store the paths; ``objects`` reads them.

        Args:
            paths: ``-`` is the standard input.
            strict: Whether files without manifests, duplicate keys, and constraints that no rule
                judges, are problems.
            unpack: Yields the objects of a document that holds several.
            project: Names what to leave out of folders.
            judged: Kinds with pod templates -> where they are. Duplicate keys of these kinds are
                findings, and no problems. None if no constraints are judged.
        """
        self.paths = tuple(paths)
        self._project = project
        self._strict = strict
        self._unpack = unpack
        self._judged = judged
        self._unjudged: list[SourceError] = []
        self._reported: set[tuple[GroupKind, TemplatePath]] = set()  # places that are not judged
        self._references = TemplateReferences()
        self.problems: list[SourceError] = []
        self.skipped: list[SkippedSource] = []
        self.namespaces: set[str] = set()
        self.policies: list[Document] = []
        self._has_kustomization = False

    def objects(self) -> Iterator[Document]:
        """Read the objects one by one; record problems and skipped files."""
        files_only = tuple(path for path in self.paths if not isinstance(path, KustomizeFolder))
        yield from self._check_keys(
            read_documents(
                files_only,
                strict=self._strict,
                unpack=self._unpack,
                path_filter=self._filter(files_only),
            )
        )
        for path in self.paths:
            if isinstance(path, KustomizeFolder):
                yield from self._check_keys(self._build(path))

    def _build(self, folder: KustomizeFolder) -> Iterator[Document | SkippedSource | SourceError]:
        try:
            parsed = read_objects(build(folder), folder.source)
        except SourceError as error:
            yield error
        else:
            yield from files.select_objects(parsed, folder.source, self._unpack)

    def facts_objects(self, paths: Iterable[str]) -> Iterator[Document]:
        """Read the objects of the manifests of ``--facts`` likewise."""
        paths = tuple(paths)
        for document in self._record(read_documents(paths, path_filter=self._filter(paths))):
            self._references.add(document)
            yield document

    def _filter(self, paths: tuple[str, ...]) -> PathFilter:
        return self._project.path_filter(paths) if self._project else NO_FILTER

    def _record(
        self, items: Iterable[Document | SkippedSource | SourceError]
    ) -> Iterator[Document]:
        for item in items:
            if isinstance(item, Document):
                self._note_object(item)
                yield item
            elif isinstance(item, SkippedSource):
                self.skipped.append(item)
            else:
                self.problems.append(item)

    def _note_object(self, document: Document) -> None:
        self.namespaces.add(document.namespace)
        self._has_kustomization |= document.group_kind.group == _KUSTOMIZE
        if document.kind == SPREAD_POLICY.kind and document.group_kind == SPREAD_POLICY:
            self.policies.append(document)

    def report_nothing(self, what: str, where: str = "") -> None:
        """
        Warn that there is nothing to work on; with ``strict``, record a problem instead.

        A problem that explains it is reported already.

        Args:
            what: What was expected, such as ``object with a pod template``.
            where: The place to name; empty for the files.
        """
        if self.problems:
            return
        where = where or ", ".join(map(files.source_of, self.paths))
        problem = f"contains no {what}"
        if self._has_kustomization:
            problem = f"{problem}: {files.KUSTOMIZATION}"
        if self._strict:
            self.problems.append(SourceError(where, problem))
        else:
            write_stderr(f"warning: {where}: {problem}")

    def _check_keys(
        self, items: Iterable[Document | SkippedSource | SourceError]
    ) -> Iterator[Document]:
        """Record the items likewise, and with ``strict`` duplicate keys that no rule reports."""
        for document in self._record(items):
            self._examine(document)
            yield document

    def _examine(self, document: Document) -> None:
        kind = document.group_kind
        self._references.add(document)
        if self._judged is not None:
            self._note_unjudged(document, kind, self._judged)
        if self._strict and (self._judged is None or kind not in self._judged):
            self.problems += (
                document.error(f"duplicate key {key.path[-1]!r}: {name_lines(key)}", key.path)
                for key in document.find_duplicate_keys()
            )

    def _note_unjudged(
        self, document: Document, kind: GroupKind, judged: Mapping[GroupKind, TemplatePlaces]
    ) -> None:
        """Record lists that no rule judges: in known kinds all, else those at new places."""
        places = judged.get(kind)
        found = list(find_unjudged_lists(document.value, kind, places))
        if not has_known_places(places, kind):
            found = self._select_new(kind, found)
        (self.problems if self._strict else self._unjudged).extend(
            document.error(describe_unjudged(path, document.api_version, kind, judged), path)
            for path in found
        )

    def _select_new(self, kind: GroupKind, found: list[FieldPath]) -> list[FieldPath]:
        """Select the first list at each place of a kind where no earlier object has one."""
        first = {(kind, as_pattern(path)): path for path in reversed(found)}
        new = {place: path for place, path in first.items() if place not in self._reported}
        self._reported.update(new)
        return [path for path in found if path in new.values()]

    def note_unknown_templates(
        self, others: Container[TemplateKey] = (), namespace: str = ""
    ) -> None:
        """Write notes to stderr for references; arguments as for ``TemplateReferences``."""
        for note in self._references.note_unknown(others, namespace):
            write_stderr(note)

    def report(self) -> None:
        """Write to stderr what could not be read, and what was skipped or not judged."""
        for found in () if self._strict else self._unjudged:
            write_stderr(f"note: {found}")
        report_problems(self.problems)
        report_skipped(self.skipped)


class InputFiles(Inputs):
    """
    Inputs with their original bytes, so that they can be rewritten; a file is read only once.

    Attributes:
        texts: Source -> text, for files with objects, and for what kustomize builds.
        originals: Source -> file as it was read, for the files among them.
        piped: Bytes of the standard input; None if ``-`` was not given.
        kinds: The kinds of the objects.
    """

    def __init__(
        self,
        paths: Iterable[str],
        *,
        strict: bool,
        project: Project | None = None,
        judged: Mapping[GroupKind, TemplatePlaces] | None = None,
    ) -> None:
        """Read everything; arguments as for ``Inputs``."""
        super().__init__(paths, strict=strict, project=project, judged=judged)
        self.texts: dict[str, str] = {}
        self.originals: dict[str, OriginalFile] = {}
        self.piped: bytes | None = None
        self.kinds: set[GroupKind] = set()
        seen: set[str] = set()
        for path in self.paths:
            if isinstance(path, KustomizeFolder):
                self._read_build(path)
                continue
            for found in self._find_files(path):
                if not isinstance(found, str):
                    self._note(found)
                elif (at := files.identify(found)) not in seen:
                    seen.add(at)
                    self._read(found)

    def _find_files(self, path: str) -> Iterable[str | SkippedSource | SourceError]:
        if path == files.STDIN:
            return (files.STDIN,)
        return files.find_files(path, self._filter(self.paths))

    def _read(self, path: str) -> None:
        source = files.source_of(path)
        try:
            data = files.read_data(path)
            if path == files.STDIN:
                self.piped = data
            text = files.decode(data, source)
        except SourceError as error:
            self.problems.append(error)
            return
        if self._keep_objects(source, text):
            self.originals[source] = OriginalFile(path, data)

    def _read_build(self, folder: KustomizeFolder) -> None:
        try:
            text = build(folder)
        except SourceError as error:
            self.problems.append(error)
        else:
            self._keep_objects(folder.source, text)

    def _keep_objects(self, source: str, text: str) -> bool:
        """Examine the objects of a text, and keep it; return whether it has any."""
        parsed = read_objects(text, source)
        has_objects = True
        for item in files.select_objects(parsed, source, expand):
            if isinstance(item, Document):
                self._examine(item)
                self._note_object(item)
                self.kinds.add(item.group_kind)
            else:
                self._note(item)
                has_objects = has_objects and not isinstance(item, SkippedSource)
        if has_objects:
            self.texts[source] = text
        return has_objects

    def _note(self, other: SkippedSource | SourceError) -> None:
        if isinstance(other, SourceError):
            self.problems.append(other)
        elif self._strict:
            self.problems.append(SourceError(other.source, other.reason))
        else:
            self.skipped.append(other)
