"""
Read the project file with ``load_project``, and check the paths in it.

``projectschema`` is its schema; ``project`` has the resulting ``Project``.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from webhook.config.filetext import read_text
from webhook.config.models import parse_selector
from webhook.config.project import OUTSIDE, SPECIAL, Exemption, Project, is_special
from webhook.config.projectschema import EXEMPTIBLE_RULES, ExemptionModel, SpreadProject
from webhook.config.rulenames import find_rules
from webhook.config.validation import DocumentValidation, read_document
from webhook.manifests.pathfilter import is_inside
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.paths import FieldPath
from webhook.policy.rule_entry import Action


def load_project(file: str) -> Project:
    """
    Read a project file.

    Raises:
        CombinedConfigError: All errors in it.
    """
    document = read_document(read_text(file), file)
    reading = DocumentValidation(document)
    written = reading.model(SpreadProject, document.value)
    reading.finish()
    assert written is not None, "an invalid document has errors"
    paths = _ProjectPaths(reading, file)
    project = Project(
        file=file,
        paths=paths.convert_all(written.paths, "paths"),
        exclude=written.exclude,
        actions=_collect_actions(written.rules),
        exemptions=tuple(
            _build_exemption(entry, reading.where(("exemptions", i)))
            for i, entry in enumerate(written.exemptions)
        ),
        facts=paths.convert_all(written.facts, "facts"),
        kube_version=written.kube_version or "",
        config=paths.convert(written.config or "", ("config",)),
        scheduler_config=paths.convert(written.scheduler_config or "", ("schedulerConfig",)),
    )
    reading.finish()
    return project


class _ProjectPaths:
    """Converts paths of a project file to paths relative to the working directory."""

    def __init__(self, reading: DocumentValidation, file: str) -> None:
        self._reading = reading
        self._folder = Path(file).parent

    def convert_all(self, written: Iterable[str], key: str) -> tuple[str, ...]:
        return tuple(self.convert(path, (key, i)) for i, path in enumerate(written))

    def convert(self, written: str, at: FieldPath) -> str:
        if not written:
            return ""
        path = self._folder / written
        if Path(written).is_absolute() or not is_inside(path, self._folder):
            self._reading.refuse(OUTSIDE, at)
        elif is_special(path):
            self._reading.refuse(SPECIAL, at)
        converted = os.path.relpath(path)
        return f"./{converted}" if converted.startswith("-") else converted  # - is standard input


def _collect_actions(written: Mapping[str, Action]) -> Mapping[str, Action]:
    return {
        rule: action
        for pattern, action in written.items()
        for rule in find_rules(pattern, DEFAULT_ACTIONS)
    }


def _build_exemption(written: ExemptionModel, where: str) -> Exemption:
    return Exemption(
        where=where,
        rules=frozenset(
            rule for pattern in written.rules for rule in find_rules(pattern, EXEMPTIBLE_RULES)
        ),
        reason=written.reason,
        namespaces=written.namespaces or (),
        kinds=written.kinds or (),
        names=written.names or (),
        selector=parse_selector(written.selector),
    )
