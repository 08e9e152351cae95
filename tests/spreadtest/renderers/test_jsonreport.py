from pathlib import Path
from typing import Any

import jsonschema
import msgspec

from tests.spreadtest.renderers.made import EVERYTHING
from webhook.spreadtest.renderers import render_report
from webhook.spreadtest.renderers.jsonreport import schema
from webhook.spreadtest.results import SuiteReport

SCHEMA = Path(__file__).parents[3] / "docs/test-report.schema.json"


def test_report_is_read_back_as_it_was() -> None:
    text = render_report(EVERYTHING, "json")

    assert msgspec.json.decode(text, type=SuiteReport) == EVERYTHING
    assert text.endswith("}\n")


def test_report_is_of_its_schema() -> None:
    jsonschema.validate(msgspec.json.decode(render_report(EVERYTHING, "json")), described())


def test_the_schema_in_the_docs_is_that_of_the_report() -> None:
    assert msgspec.json.decode(SCHEMA.read_bytes()) == described()


def described() -> Any:
    return msgspec.json.decode(msgspec.json.encode(schema()))
