import jsonschema
import msgspec
import pytest
import yaml

from tests.audit.world import EVERYTHING, audit
from tests.schemas import describe_schema
from webhook.audit.renderers import AUDIT_FORMATS, render_report
from webhook.audit.report import AuditReport


def test_it_is_valid_by_its_schema_and_read_back() -> None:
    report = audit(EVERYTHING)
    text = render_report(report, "json")

    jsonschema.validate(msgspec.json.decode(text), describe_schema(AuditReport))
    assert msgspec.json.decode(text, type=AuditReport) == report


@pytest.mark.parametrize("output", AUDIT_FORMATS)
def test_equal_reports_are_equal_bytes_and_end_with_a_line_break(output: str) -> None:
    first, second = (render_report(audit(EVERYTHING), output) for _ in range(2))

    assert first == second
    assert first.endswith("\n")


def test_yaml_has_the_same_content() -> None:
    report = audit(EVERYTHING)

    assert yaml.safe_load(render_report(report, "yaml")) == msgspec.json.decode(
        render_report(report, "json")
    )
