"""Makes suites that can be run of the files in which they are written, and of those they name."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.admission.offline import (
    BOTH,
    HOOK_CHOICES,
    OfflineReview,
    build_reviews,
    update_review,
)
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import fill
from webhook.config import AskedGate, Configuration, gates_in_force, load, policy
from webhook.config.configuration import check_document
from webhook.config.files import read_text
from webhook.config.reading import Reading, read_document
from webhook.errors import CombinedConfigError, SourceError
from webhook.manifests import Document, expand, is_object, read_documents
from webhook.policy.api.versions import NEWEST_VERSION, parse_version
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.paths import FieldPath
from webhook.policy.request import Hook
from webhook.spreadtest import schema
from webhook.spreadtest.discovery import SuiteText
from webhook.spreadtest.objects import SuiteObjects, resolve_path
from webhook.spreadtest.schema import SpreadTest


class SuiteCase(msgspec.Struct, frozen=True, kw_only=True):
    """
    A case, ready to be run.

    Attributes:
        line: Where it stands in its suite, from 1.
        asked: The request, or why its object cannot be read.
        hooks: The webhooks that are called.
        expected: The written members of the expectation, of JSON's types.
    """

    name: str
    line: int
    asked: OfflineReview | SourceError
    hooks: tuple[Hook, ...]
    policy: Policy
    expected: dict[str, Any]


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """
    A suite, ready to be run.

    Attributes:
        problems: What could not be read of its cluster; then no case can be run.
    """

    source: str
    name: str
    cluster: Cluster
    problems: tuple[SourceError, ...]
    cases: tuple[SuiteCase, ...]


def load_suite(suite: SuiteText) -> Suite:
    """
    Read a suite and all that it names.

    Raises:
        MistakesError: Everything that is wrong with it, and with the configuration that it names.
    """
    reading = Reading(read_document(suite.text, suite.source))
    written = reading.model(SpreadTest, reading.document.value)
    reading.finish()
    assert written is not None, "otherwise something was wrong"
    configuration = _configuration(written, reading)
    cluster = Cluster(configuration.owner_selectors)
    problems = _fill(cluster, written, reading)
    maker = _CaseMaker(written, reading, configuration)
    cases = [case for i in range(len(written.cases)) for case in maker.make(i)]
    reading.finish()
    return Suite(
        source=suite.source,
        name=written.name or suite.source,
        cluster=cluster,
        problems=tuple(problems),
        cases=tuple(cases),
    )


def _configuration(written: SpreadTest, reading: Reading) -> Configuration:
    """
    Read the configuration, which everything else depends on.

    Raises:
        MistakesError: Everything that is wrong with it.
    """
    if is_object(written.config):
        suite = reading.document
        inline = Document(suite.source, written.config, suite.lines, ("config",))
        return check_document(inline, read_text)
    files = (written.config, written.scheduler_config)
    return load(*(str(resolve_path(reading, file)) if file else "" for file in files))


def _fill(cluster: Cluster, written: SpreadTest, reading: Reading) -> list[SourceError]:
    """Put everything into the cluster that the suite has for it; returns what cannot be read."""
    problems: list[SourceError] = []
    for i, part in enumerate(written.cluster):
        documents: list[Document] = []
        for item in _parts(part, ("cluster", i), reading):
            if isinstance(item, SourceError):
                problems.append(item)
            else:
                documents.append(item)
        problems += fill(cluster, documents)
    return problems


def _parts(part: Any, path: FieldPath, reading: Reading) -> Iterator[Document | SourceError]:
    if is_object(part):
        suite = reading.document
        yield from expand(Document(suite.source, part, suite.lines, path))
        return
    beside = resolve_path(reading, part)
    if not beside.exists():
        reading.refuse(f"{str(beside)!r} is no file and no folder", path)
        return
    for item in read_documents([str(beside)]):
        if isinstance(item, Document | SourceError):
            yield item


class _CaseMaker:
    """Makes the cases of one suite."""

    def __init__(self, written: SpreadTest, reading: Reading, configuration: Configuration) -> None:
        self._written = written
        self._reading = reading
        self._configuration = configuration
        self._objects = SuiteObjects(reading, configuration.pod_templates)

    def make(self, index: int) -> Iterator[SuiteCase]:
        """Make a case, unless something is wrong with it."""
        case, path = self._written.cases[index], ("cases", index)
        asked, judged_by = self._asked(case, path), self._policy(case, path)
        if asked is None or judged_by is None:
            return
        yield SuiteCase(
            name=case.name,
            line=self._reading.document.line(path),
            asked=asked,
            hooks=_hooks(case, asked),
            policy=judged_by,
            expected=dict(case.expect.written),
        )

    def _asked(
        self, case: schema.CaseSchema, path: FieldPath
    ) -> OfflineReview | SourceError | None:
        document = self._objects.find(case.object, (*path, "object"))
        if not isinstance(document, Document):
            return document
        asked = next(build_reviews([document], self._configuration.pod_templates))
        if case.old_object is None:
            return asked
        at = (*path, "oldObject")
        old = self._objects.find(case.old_object, at)
        if not isinstance(old, Document):
            return old
        if problem := _no_update(asked, old):
            self._reading.refuse(problem, at)
            return None
        return update_review(asked, old)

    def _policy(self, case: schema.CaseSchema, path: FieldPath) -> Policy | None:
        configuration = self._configuration
        version = case.kube_version or self._written.kube_version
        asked = {
            **configuration.asked_gates,
            **self._gates(self._written.feature_gates, ()),
            **self._gates(case.feature_gates, path),
        }
        locked = case.allow_locked_gates
        try:
            gates = gates_in_force(
                replace(configuration, asked_gates=asked),
                parse_version(version) if version else NEWEST_VERSION,
                allow_locked=self._written.allow_locked_gates if locked is None else locked,
            )
        except CombinedConfigError as error:
            for each in error.errors:
                self._reading.tell(each, path)
            return None
        return policy(configuration, gates)

    def _gates(self, gates: dict[str, bool], path: FieldPath) -> dict[str, AskedGate]:
        return {
            name: AskedGate(on, self._reading.where((*path, "featureGates", name)))
            for name, on in gates.items()
        }


def _no_update(asked: OfflineReview, old: Document) -> str:
    """Why an object cannot be what a request updates; empty if it can."""
    if asked.recorded:
        return "stands in the recorded review already: leave it out"
    new = asked.document
    if (old.kind, old.name) != (new.kind, new.name):
        return f"is {old.kind} {old.name}, and no update makes it {new.kind} {new.name}"
    return ""


def _hooks(case: schema.CaseSchema, asked: OfflineReview | SourceError) -> tuple[Hook, ...]:
    if case.hook:
        return HOOK_CHOICES[case.hook]
    return (
        (asked.hook,) if isinstance(asked, OfflineReview) and asked.recorded else HOOK_CHOICES[BOTH]
    )
