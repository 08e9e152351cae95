"""The report of ``evenspread fix``."""

import pytest

from tests.fix.fixed import deployment, options, run_fix
from webhook.fix.report import FixReport

# constraints, description of the change
WRITTEN = {
    "an added member": (
        (
            "      topologySpreadConstraints:\n"
            "      - {topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}\n"
        ),
        "TSC001",
        "added maxSkew: 1",
    ),
    "a replaced member": (
        (
            "      topologySpreadConstraints:\n"
            '      - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: "", labelSelector: {}}\n'
        ),
        "TSC003",
        None,
    ),
    "a removed member": (
        (
            "      topologySpreadConstraints:\n"
            "      - {maxSkew: 1, minDomains: 0, topologyKey: a,\n"
            "         whenUnsatisfiable: DoNotSchedule}\n"
        ),
        "TSC005",
        "removed minDomains: 0",
    ),
    "a removed item": (
        (
            "      topologySpreadConstraints:\n"
            "      - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}\n"
            "      - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}\n"
        ),
        "TSC004",
        "removed entry 1 of topologySpreadConstraints",
    ),
}


@pytest.mark.parametrize(("constraints", "rule", "wrote"), WRITTEN.values(), ids=WRITTEN.keys())
def test_a_change_is_described_in_words(constraints: str, rule: str, wrote: str | None) -> None:
    outcome = run_fix(deployment(constraints), options(rule))

    assert [finding.wrote for finding in outcome.fixed] == ([wrote] if wrote else [])


def test_a_report_exceeds_a_severity_if_such_a_finding_is_left() -> None:
    constraints = WRITTEN["a replaced member"][0]
    left = run_fix(deployment(constraints), options("TSC003")).left
    report = FixReport(written=False, changed=(), fixed=(), left=left)

    assert report.exceeds(left[0].weight)
    assert not report.exceeds(None)
    assert not FixReport(written=True, changed=(), fixed=(), left=()).exceeds(left[0].weight)
