"""The page on explain names every member that its JSON has, and no other edit than there are."""

import re
from typing import Any

import msgspec

from tests.docs.markdown import ROOT
from webhook.cli.explain import ExplainResult
from webhook.explain import correctedkeys, nodeedits, podedits, scenario, softening
from webhook.explain.scenario import ScenarioEdit

PAGE = (ROOT / "docs/explain.md").read_text().partition("## Output for programs")[2]
NAMED = {part for code in re.findall(r"`([^`]+)`", PAGE) for part in re.split(r"[.\[\]]+", code)}

EDITS = [
    value
    for module in (scenario, correctedkeys, nodeedits, podedits, softening)
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, ScenarioEdit) and not value.__subclasses__()
]


def members(schema: Any) -> set[str]:
    """The names of all members in a JSON schema."""
    if isinstance(schema, list):
        return set().union(*map(members, schema))
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", ())).union(*map(members, schema.values()))


def test_every_member_is_explained() -> None:
    _, components = msgspec.json.schema_components([ExplainResult, *EDITS])

    assert members(components) - NAMED == set()


def test_every_edit_is_explained() -> None:
    tags = {str(edit.__struct_config__.tag) for edit in EDITS}

    assert tags - NAMED == set()
