"""The report on fixes, and differences, as they are printed."""

import sys

import pytest
from msgspec.structs import replace

from tests.cli.conftest import Screen
from webhook.audit.report import AuditSeverity
from webhook.cli.fix import show, show_diff
from webhook.cli.terminal import Terminal
from webhook.fix.difference import format_difference
from webhook.fix.report import BELOW_LEVEL, FixedFinding, FixReport, RemainingFinding

FINDING = FixedFinding(
    rule="TSC001",
    severity=AuditSeverity.DENY,
    source="web.yaml",
    line=11,
    object="Pod shop/web",
    field="maxSkew",
    problem="Invalid value: 0",
    instead="write 1",
    wrote="wrote maxSkew: 1, not 0",
    resource="pod/web",
)
LEFT = RemainingFinding(
    rule="TSC003",
    severity=AuditSeverity.DENY,
    source="web.yaml",
    line=13,
    object="Pod shop/web",
    field="whenUnsatisfiable",
    problem="Unsupported value",
    instead="write DoNotSchedule",
    reason="the intention is unknown",
)
CHANGED_LINE = """\
--- web.yaml
+++ web.yaml
@@ -1,2 +1,2 @@
 a: 1
-b: 2
+b: 3
"""


def test_fixed_and_remaining_findings_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    show(FixReport(written=True, changed=("web.yaml",), fixed=(FINDING,), left=(LEFT,)), Terminal())

    assert capsys.readouterr().out.splitlines() == [
        "web.yaml:11: TSC001 Pod shop/web: wrote maxSkew: 1, not 0",
        "web.yaml:13: TSC003 Pod shop/web: whenUnsatisfiable: Unsupported value",
        "    left: the intention is unknown",
        "1 finding fixed in 1 file, 1 left",
    ]


@pytest.mark.parametrize(("has_fix", "effect"), [(True, "fixes 3"), (False, "lists them")])
def test_findings_below_the_level_are_counted(
    has_fix: bool, effect: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = BELOW_LEVEL if has_fix else LEFT.reason
    below = [
        replace(
            LEFT,
            severity=level,
            reason=reason.format(severity=level, rule=LEFT.rule),
            below_level=True,
        )
        for level in (AuditSeverity.AUDIT, AuditSeverity.WARN, AuditSeverity.AUDIT)
    ]

    show(FixReport(written=True, changed=(), fixed=(), left=(LEFT, *below)), Terminal())

    assert capsys.readouterr().out.splitlines()[-1] == (
        "0 findings fixed in 0 files, 1 left; "
        f"1 of level warn and 2 of level audit not considered (--level audit {effect})"
    )


def test_a_diff_only_announces_fixes(capsys: pytest.CaptureFixture[str]) -> None:
    show(FixReport(written=False, changed=(), fixed=(), left=()), Terminal())

    assert capsys.readouterr().out == "0 findings would be fixed in 0 files, 0 left\n"


# before, after, the diff
DIFFS = {
    "a changed line": ("a: 1\nb: 2\n", "a: 1\nb: 3\n", CHANGED_LINE),
    "no change": ("a: 1\n", "a: 1\n", ""),
    "a last line without its end": (
        "a: 1\nb: 2",
        "a: 1\nb: 3\n",
        CHANGED_LINE.replace("-b: 2\n", "-b: 2\n\\ No newline at end of file\n"),
    ),
    "lines that end as on Windows": (
        "a: 1\r\nb: 2\r\n",
        "a: 1\r\nb: 3\r\n",
        CHANGED_LINE.replace(" a: 1\n-b: 2\n+b: 3\n", " a: 1\r\n-b: 2\r\n+b: 3\r\n"),
    ),
}


@pytest.mark.parametrize(("before", "after", "diff"), DIFFS.values(), ids=DIFFS.keys())
def test_a_diff_is_written_as_bytes(
    before: str, after: str, diff: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    show_diff(format_difference("web.yaml", before, after))

    assert capsysbinary.readouterr().out == diff.encode()


def test_a_diff_on_a_terminal_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)

    show_diff(format_difference("web.yaml", "a: 1\nb: 2\n", "a: 1\nb: 3\n"))

    assert screen.getvalue().splitlines()[-2:] == ["\x1b[31m-b: 2\x1b[0m", "\x1b[32m+b: 3\x1b[0m"]
