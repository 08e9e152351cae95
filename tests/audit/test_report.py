from pathlib import Path

import msgspec
import pytest

from tests.audit.world import finding, report
from webhook.audit.renderers.jsonreport import schema
from webhook.audit.report import AuditSeverity

SCHEMA = Path(__file__).parents[2] / "docs" / "audit.schema.json"


def test_the_schema_in_the_docs_is_that_of_the_report() -> None:
    assert msgspec.json.decode(SCHEMA.read_bytes()) == msgspec.json.decode(
        msgspec.json.encode(schema())
    )


EXCEEDS = {
    "a warning is no denial": (AuditSeverity.DENY, False),
    "a warning is one": (AuditSeverity.WARN, True),
    "a warning is more than a remark": (AuditSeverity.AUDIT, True),
    "nothing is asked for": (None, False),
}


@pytest.mark.parametrize(("weight", "expected"), EXCEEDS.values(), ids=EXCEEDS.keys())
def test_a_report_exceeds_a_weight(weight: AuditSeverity | None, expected: bool) -> None:
    assert report(finding(severity=AuditSeverity.WARN)).exceeds(weight) is expected
