import jsonschema
import msgspec
import pytest

from tests.audit.world import EVERYTHING, audit
from webhook.audit.renderers import AUDIT_FORMATS, jsonreport, render_report


def test_it_is_valid_by_its_schema_and_read_back() -> None:
    report = audit(EVERYTHING)
    text = render_report(report, "json")

    jsonschema.validate(msgspec.json.decode(text), jsonreport.schema())
    assert jsonreport.read(text.encode()) == report


@pytest.mark.parametrize("output", AUDIT_FORMATS)
def test_equal_reports_are_equal_bytes_and_end_with_a_line_break(output: str) -> None:
    first, second = (render_report(audit(EVERYTHING), output) for _ in range(2))

    assert first == second
    assert first.endswith("\n")
