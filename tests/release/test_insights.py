"""
SECURITY-INSIGHTS.yml, by the rules of its schema.

Source: OpenSSF Security Insights 2.2.0, spec/schema.cue. Its definitions are closed: a member that
they do not name is an error.
"""

import re
from datetime import date
from typing import Any, TypeAlias

import pytest
import yaml
from jsonschema import Draft202012Validator, FormatChecker

from tests.docs.markdown import anchors
from tests.release.conftest import ROOT
from tests.release.test_workflows import FILES
from webhook import PROJECT_ADDRESS

Schema: TypeAlias = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
URL: Schema = {"type": "string", "pattern": r"^https?://[^\s]+$"}
DAY: Schema = {"type": "string", "format": "date"}
EMAIL: Schema = {"type": "string", "pattern": r"^[\w.%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$"}


def closed(required: Schema, **optional: Schema) -> Schema:
    """An object with these members alone; underscores stand for hyphens."""
    members = {name.replace("_", "-"): held for name, held in (required | optional).items()}
    return {
        "type": "object",
        "properties": members,
        "required": [name.replace("_", "-") for name in required],
        "additionalProperties": False,
    }


def some(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 1}


def links(*names: str) -> Schema:
    return closed({}, **dict.fromkeys(names, URL))


CONTACT = closed({"name": TEXT, "primary": FLAG}, affiliation=TEXT, email=EMAIL, social=TEXT)
ASSESSMENT = closed({"comment": TEXT}, name=TEXT, evidence=URL, date=DAY)
ATTESTATION = closed({"name": TEXT, "location": URL, "predicate_uri": TEXT}, comment=TEXT)
LICENSE = closed({"url": URL, "expression": TEXT})
LINK = closed({"uri": TEXT, "comment": TEXT})
REPORTING = closed(
    {"reports_accepted": FLAG, "bug_bounty_available": FLAG},
    bug_bounty_program=URL,
    contact=CONTACT,
    comment=TEXT,
    policy=URL,
    pgp_key=TEXT,
    in_scope=some(TEXT),
    out_of_scope=some(TEXT),
)
PROJECT = closed(
    {
        "name": TEXT,
        "administrators": some(CONTACT),
        "repositories": some(closed({"name": TEXT, "comment": TEXT, "url": URL})),
        "vulnerability_reporting": REPORTING,
    },
    homepage=URL,
    roadmap=URL,
    funding=URL,
    steward=LINK,
    documentation=links(
        *("design", "detailed-guide", "code-of-conduct", "quickstart-guide", "release-process"),
        *("support-policy", "signature-verification"),
    ),
)
TOOL = closed(
    {
        "name": TEXT,
        "type": {"enum": ["fuzzing", "container", "secret", "SCA", "SAST", "other"]},
        "rulesets": some(TEXT),
        "integration": closed({"adhoc": FLAG, "ci": FLAG, "release": FLAG}),
        "results": closed({}, adhoc=ATTESTATION, ci=ATTESTATION, release=ATTESTATION),
    },
    version=TEXT,
    comment=TEXT,
)
STATUS = ["active", "abandoned", "concept", "inactive", "moved", "suspended", "unsupported", "WIP"]
REPOSITORY = closed(
    {
        "status": {"enum": STATUS},
        "url": URL,
        "accepts_change_request": FLAG,
        "accepts_automated_change_request": FLAG,
        "core_team": some(CONTACT),
        "license": LICENSE,
        "security": closed(
            {"assessments": closed({"self": ASSESSMENT}, third_party=some(ASSESSMENT))},
            champions=some(CONTACT),
            tools=some(TOOL),
        ),
    },
    bug_fixes_only=FLAG,
    no_third_party_packages=FLAG,
    documentation=links(
        *("contributing-guide", "dependency-management-policy", "governance", "review-policy"),
        "security-policy",
    ),
    release=closed(
        {"automated_pipeline": FLAG, "distribution_points": some(LINK)},
        changelog=URL,
        license=LICENSE,
        attestations=some(ATTESTATION),
    ),
)
HEADER = closed(
    {
        "last_reviewed": DAY,
        "last_updated": DAY,
        "schema_version": {"type": "string", "pattern": r"^[1-9]+\.[0-9]+\.[0-9]+$"},
        "url": URL,
    },
    comment=TEXT,
    project_si_source=URL,
)
SCHEMA = closed({"header": HEADER}, project=PROJECT, repository=REPOSITORY)

INSIGHTS: Any = yaml.safe_load((ROOT / "SECURITY-INSIGHTS.yml").read_text())


def test_it_fits_the_schema() -> None:
    validator = Draft202012Validator(SCHEMA, format_checker=FormatChecker())

    assert [error.message for error in validator.iter_errors(INSIGHTS)] == []
    assert INSIGHTS["header"]["schema-version"] == "2.2.0"


def test_it_was_not_reviewed_before_it_was_written() -> None:
    header = INSIGHTS["header"]

    assert date.fromisoformat(header["last-updated"]) <= date.fromisoformat(header["last-reviewed"])


def test_what_it_links_to_is_in_the_repository() -> None:
    text = (ROOT / "SECURITY-INSIGHTS.yml").read_text()
    linked = re.findall(r"/(?:blob|raw)/main/([^#\s]+)", text)

    assert linked
    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_anchors_that_it_links_to_exist() -> None:
    text = (ROOT / "SECURITY-INSIGHTS.yml").read_text()
    linked = re.findall(r"/blob/main/([^#\s]+)#(\S+)", text)

    assert linked
    assert [link for link in linked if link[1] not in anchors(ROOT / link[0])] == []


@pytest.mark.parametrize("path", ["SECURITY-INSIGHTS.yml", "deploy/ci/gitlab.yml", "docs/ci.md"])
def test_a_link_to_the_repository_has_its_address(path: str) -> None:
    links = re.findall(
        r"https://\S+/(?:blob|raw|releases|attestations)\b", (ROOT / path).read_text()
    )

    assert {link.rpartition("/")[0] for link in links} == {PROJECT_ADDRESS}


def test_its_tools_are_used_where_it_claims() -> None:
    release = next(file for file in FILES if file.name == "release.yml").read_text()
    makefile = (ROOT / "Makefile").read_text()
    security = INSIGHTS["repository"]["security"]
    tools = {tool["name"]: tool["integration"] for tool in security["tools"]}

    assert tools["pip-audit"]["release"] == ("make advisories" in release)
    assert tools["ruff"]["ci"] == ("ruff check" in makefile)
