"""
Discovery and loading of suites, with the files that they name.

``find_suites`` recognises a suite by its text, so that it also finds suites with errors; a file's
name plays no part. ``load_suite`` returns a suite that is ready to run, or raises all errors at
once.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.admission.offline import (
    OfflineReview,
    build_reviews,
    update_review,
)
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import fill
from webhook.config.configuration import Configuration, ConfiguredGate, policy
from webhook.config.documents import check
from webhook.config.files import load
from webhook.config.filetext import read_text as read_configuration_text
from webhook.config.gates import gates_in_force
from webhook.config.policyobjects import read_spread_policies
from webhook.config.spreadpolicies import add_policies
from webhook.config.validation import DocumentValidation, read_document
from webhook.errors import CombinedConfigError, ConfigError, SourceError
from webhook.manifests import Document, SkippedSource, expand, read_documents
from webhook.manifests.files import find_files, identify, read_text
from webhook.manifests.pathfilter import NO_FILTER, PathFilter
from webhook.policy.api.versions import NEWEST_VERSION, parse_version
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.paths import FieldPath, is_object
from webhook.policy.request import BOTH, HOOK_CHOICES, Hook
from webhook.spreadtest import schema
from webhook.spreadtest.objects import SuiteObjects, resolve_path
from webhook.spreadtest.schema import SUITE_API_VERSION, SUITE_KIND, SpreadTest

_holds_suite = re.compile(
    rf"""^(?:kind|"kind")\s*:\s*["']?{SUITE_KIND}\b|"kind"\s*:\s*"{SUITE_KIND}\"""", re.MULTILINE
).search
"""Match a key of YAML's outermost mapping or of JSON, but no line of a nested text."""


@dataclass(frozen=True)
class SuiteText:
    """The text of a suite that is not decoded yet."""

    source: str
    text: str


def find_suites(
    paths: Iterable[str], path_filter: PathFilter = NO_FILTER
) -> Iterator[SuiteText | SourceError]:
    """
    Find suites.

    Args:
        paths: Folders, and files that contain suites.
        path_filter: Leaves out what is found in a folder.

    Yields:
        Suites in the order of their names, and files that cannot be read; each file once.

    Raises:
        ConfigError: One of the paths has no suite.
    """
    seen: set[str] = set()
    for path in paths:
        found = list(_find_at(path, path_filter))
        if not found:
            is_folder = Path(path).is_dir()
            problem = f"no file below it is a {SUITE_KIND}" if is_folder else f"is no {SUITE_KIND}"
            advice = f"`apiVersion: {SUITE_API_VERSION}` and `kind: {SUITE_KIND}`"
            error = ConfigError(f"{problem}: write one that starts with {advice}", path)
            raise CombinedConfigError([error])
        for item in found:
            at = identify(item.source)
            if at not in seen:
                seen.add(at)
                yield item


def _find_at(named: str, path_filter: PathFilter) -> Iterator[SuiteText | SourceError]:
    for item in find_files(named, path_filter):
        if isinstance(item, SourceError):
            yield item
        if not isinstance(item, str):
            continue
        try:
            text = read_text(item)
        except SourceError as error:
            yield error
        else:
            if _holds_suite(text):
                yield SuiteText(item, text)


class SuiteCase(msgspec.Struct, frozen=True, kw_only=True):
    """
    A case that is ready to run.

    Attributes:
        line: Line of the case in its suite, from 1.
        request: The request, or why its object cannot be read.
        hooks: The webhooks to call.
        expected: The members written in the expectation, of JSON's types.
    """

    name: str
    line: int
    request: OfflineReview | SourceError
    hooks: tuple[Hook, ...]
    policy: Policy
    expected: dict[str, Any]


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """
    A suite that is ready to run.

    Attributes:
        problems: Files of its cluster that cannot be read; with any, no case can run.
    """

    source: str
    name: str
    cluster: Cluster
    problems: tuple[SourceError, ...]
    cases: tuple[SuiteCase, ...]


def load_suite(suite: SuiteText) -> Suite:
    """
    Read a suite and the files that it names.

    Raises:
        CombinedConfigError: All errors of the suite, of the configuration that it names, or of the
            SpreadPolicies in its cluster.
    """
    reading = DocumentValidation(read_document(suite.text, suite.source))
    written = reading.model(SpreadTest, reading.document.value)
    reading.finish()
    assert written is not None, "finish raises otherwise"
    items = list(_read_cluster(written, reading))
    documents = [item for item in items if isinstance(item, Document)]
    configuration = add_policies(
        _read_configuration(written, reading), read_spread_policies(documents)
    )
    cluster = Cluster(configuration.owner_selectors)
    problems = [item for item in items if isinstance(item, SourceError)]
    problems += fill(cluster, documents)
    builder = _CaseBuilder(written, reading, configuration)
    cases = [case for i in range(len(written.cases)) for case in builder.build(i)]
    reading.finish()
    return Suite(
        source=suite.source,
        name=written.name or suite.source,
        cluster=cluster,
        problems=tuple(problems),
        cases=tuple(cases),
    )


def _read_configuration(written: SpreadTest, reading: DocumentValidation) -> Configuration:
    if is_object(written.config):
        suite = reading.document
        inline = Document(suite.source, written.config, suite.text, ("config",))
        return check(inline, read_configuration_text)
    files = (written.config, written.scheduler_config)
    return load(*(str(resolve_path(reading, file)) if file else "" for file in files))


def _read_cluster(
    written: SpreadTest, reading: DocumentValidation
) -> Iterator[Document | SkippedSource | SourceError]:
    for i, part in enumerate(written.cluster):
        yield from _read_part(part, ("cluster", i), reading)


def _read_part(
    part: Any, path: FieldPath, reading: DocumentValidation
) -> Iterable[Document | SkippedSource | SourceError]:
    if is_object(part):
        suite = reading.document
        return expand(Document(suite.source, part, suite.text, path))
    file = resolve_path(reading, part)
    if file.exists():
        return read_documents([str(file)])
    reading.refuse(f"{str(file)!r} is no file and no folder", path)
    return ()


class _CaseBuilder:
    """Builds the cases of one suite."""

    def __init__(
        self, written: SpreadTest, reading: DocumentValidation, configuration: Configuration
    ) -> None:
        self._written = written
        self._reading = reading
        self._configuration = configuration
        self._objects = SuiteObjects(reading, configuration.pod_templates)

    def build(self, index: int) -> Iterator[SuiteCase]:
        """Build a case, unless it has an error."""
        case, path = self._written.cases[index], ("cases", index)
        request, case_policy = self._read_request(case, path), self._build_policy(case, path)
        if request is None or case_policy is None:
            return
        yield SuiteCase(
            name=case.name,
            line=self._reading.document.line(path),
            request=request,
            hooks=_choose_hooks(case, request),
            policy=case_policy,
            expected=dict(case.expect.written),
        )

    def _read_request(
        self, case: schema.CaseSchema, path: FieldPath
    ) -> OfflineReview | SourceError | None:
        document = self._objects.find(case.object, (*path, "object"))
        if not isinstance(document, Document):
            return document
        request = next(build_reviews([document], self._configuration.pod_templates))
        if case.old_object is None:
            return request
        at = (*path, "oldObject")
        old = self._objects.find(case.old_object, at)
        if not isinstance(old, Document):
            return old
        if problem := _explain_no_update(request, old):
            self._reading.refuse(problem, at)
            return None
        return update_review(request, old)

    def _build_policy(self, case: schema.CaseSchema, path: FieldPath) -> Policy | None:
        configuration = self._configuration
        version = case.kube_version or self._written.kube_version
        requested = {
            **configuration.configured_gates,
            **self._convert_gates(self._written.feature_gates, ()),
            **self._convert_gates(case.feature_gates, path),
        }
        locked = case.allow_locked_gates
        try:
            gates = gates_in_force(
                replace(configuration, configured_gates=requested),
                parse_version(version) if version else NEWEST_VERSION,
                allow_locked=self._written.allow_locked_gates if locked is None else locked,
            )
        except CombinedConfigError as error:
            for item in error.errors:
                self._reading.add_error(item, path)
            return None
        return policy(configuration, gates)

    def _convert_gates(self, gates: dict[str, bool], path: FieldPath) -> dict[str, ConfiguredGate]:
        return {
            name: ConfiguredGate(on, self._reading.where((*path, "featureGates", name)))
            for name, on in gates.items()
        }


def _explain_no_update(request: OfflineReview, old: Document) -> str:
    """Explain why a request cannot update an object; empty if it can."""
    if request.recorded:
        return "is already in the recorded review: remove it"
    new = request.document
    if (old.kind, old.name) != (new.kind, new.name):
        return f"is {old.kind} {old.name}, which no update can change to {new.kind} {new.name}"
    return ""


def _choose_hooks(
    case: schema.CaseSchema, request: OfflineReview | SourceError
) -> tuple[Hook, ...]:
    if not case.hook and isinstance(request, OfflineReview) and request.recorded:
        return (request.hook,)
    return HOOK_CHOICES[case.hook or BOTH]
