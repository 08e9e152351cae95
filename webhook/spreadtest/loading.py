"""Makes suites that can be run of the files in which they are written, and of those they name."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.admission.offline import BOTH, HOOKS, Asked, as_update, ask
from webhook.cluster.lookup import Cluster
from webhook.cluster.manifests import fill
from webhook.config import AskedGate, Configuration, gates_in_force, load, policy
from webhook.config.configuration import check_document
from webhook.config.files import read_text
from webhook.config.reading import Reading, read_document
from webhook.errors import MistakesError, SourceError
from webhook.manifests import Document, expand, is_object, read_documents
from webhook.policy.api.versions import NEWEST, parse_version
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.paths import FieldPath
from webhook.policy.request import Hook
from webhook.spreadtest import form
from webhook.spreadtest.finding import SuiteText
from webhook.spreadtest.form import SpreadTest
from webhook.spreadtest.objects import Objects, beside_suite


class Case(msgspec.Struct, frozen=True, kw_only=True):
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
    asked: Asked | SourceError
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
    cases: tuple[Case, ...]


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
        inline = Document(suite.source, written.config, suite.text, ("config",))
        return check_document(inline, read_text)
    files = (written.config, written.scheduler_config)
    return load(*(str(beside_suite(reading, file)) if file else "" for file in files))


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
        yield from expand(Document(suite.source, part, suite.text, path))
        return
    beside = beside_suite(reading, part)
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
        self._objects = Objects(reading, configuration.pod_templates)

    def make(self, index: int) -> Iterator[Case]:
        """Make a case, unless something is wrong with it."""
        case, path = self._written.cases[index], ("cases", index)
        asked, judged_by = self._asked(case, path), self._policy(case, path)
        if asked is None or judged_by is None:
            return
        yield Case(
            name=case.name,
            line=self._reading.document.line(path),
            asked=asked,
            hooks=_hooks(case, asked),
            policy=judged_by,
            expected=dict(case.expect.written),
        )

    def _asked(self, case: form.Case, path: FieldPath) -> Asked | SourceError | None:
        document = self._objects.find(case.object, (*path, "object"))
        if not isinstance(document, Document):
            return document
        asked = next(ask([document], self._configuration.pod_templates))
        if case.old_object is None:
            return asked
        at = (*path, "oldObject")
        old = self._objects.find(case.old_object, at)
        if not isinstance(old, Document):
            return old
        if problem := _no_update(asked, old):
            self._reading.refuse(problem, at)
            return None
        return as_update(asked, old)

    def _policy(self, case: form.Case, path: FieldPath) -> Policy | None:
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
                parse_version(version) if version else NEWEST,
                allow_locked=self._written.allow_locked_gates if locked is None else locked,
            )
        except MistakesError as error:
            for each in error.errors:
                self._reading.tell(each, path)
            return None
        return policy(configuration, gates)

    def _gates(self, gates: dict[str, bool], path: FieldPath) -> dict[str, AskedGate]:
        return {
            name: AskedGate(on, self._reading.where((*path, "featureGates", name)))
            for name, on in gates.items()
        }


def _no_update(asked: Asked, old: Document) -> str:
    """Why an object cannot be what a request updates; empty if it can."""
    if asked.recorded:
        return "stands in the recorded review already: leave it out"
    new = asked.document
    if (old.kind, old.name) != (new.kind, new.name):
        return f"is {old.kind} {old.name}, and no update makes it {new.kind} {new.name}"
    return ""


def _hooks(case: form.Case, asked: Asked | SourceError) -> tuple[Hook, ...]:
    if case.hook:
        return HOOKS[case.hook]
    return (asked.hook,) if isinstance(asked, Asked) and asked.recorded else HOOKS[BOTH]
