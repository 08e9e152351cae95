"""audit --since: an audit, or a saved report, compared with an earlier report."""

from pathlib import Path

import msgspec
import pytest

from tests.audit import world
from tests.cli.conftest import Run
from webhook.audit.comparison import AuditComparison
from webhook.audit.renderers.comparison import COMPARISON_FORMATS

BEFORE = world.LIVE
AFTER = world.EVERYTHING.replace('"nodeName":"node-b"', '"nodeName":"node-a"')


@pytest.fixture
def reports(folder: Path, run: Run) -> Path:
    """old.json and new.json of a cluster that becomes worse, and all.yaml, which is it now."""
    for name, text in (("old", BEFORE), ("new", AFTER)):
        (folder / "all.yaml").write_text(text)
        run("audit", "-f", "all.yaml", "-o", f"json={name}.json", "--fail-on", "never")
    return folder


def test_an_audit_is_compared_with_an_earlier_one(reports: Path, run: Run) -> None:
    ran = run("audit", "-f", "all.yaml", "--since", "old.json")

    assert ran.code == 1
    assert ran.out.splitlines() == [
        "Pod ops/lone  added",
        (
            "  new       deny  TSC001  spec.topologySpreadConstraints[0].maxSkew: "
            "Invalid value: 0: must be greater than zero"
        ),
        "",
        "Deployment shop/web",
        "  worse     skew 3 of 1 -> skew 4 of 1  topology.kubernetes.io/zone",
        "",
        (
            "1 new finding, 0 worse, 0 better, 0 resolved, 2 unchanged; 1 spread worse, 0 better; "
            "1 workload added, 0 removed"
        ),
    ]


def test_two_saved_reports_are_compared_both_ways(reports: Path, run: Run) -> None:
    audited = run("audit", "-f", "all.yaml", "--since", "old.json")
    forwards = run("audit", "--since", "old.json", "--report", "new.json")
    backwards = run("audit", "--since", "new.json", "--report", "old.json", "--fail-on", "audit")

    assert (forwards.code, forwards.out) == (1, audited.out)
    assert backwards.code == 0
    assert "Pod ops/lone  removed\n  resolved  deny  TSC001" in backwards.out
    assert "  better    skew 4 of 1 -> skew 3 of 1" in backwards.out


def test_every_output_is_written(reports: Path, run: Run) -> None:
    targets = [word for name in COMPARISON_FORMATS for word in ("-o", f"{name}={name}.out")]

    run("audit", "--since", "old.json", "--report", "new.json", *targets)

    document = (reports / "json.out").read_bytes()
    assert msgspec.json.decode(document, type=AuditComparison).summary.new == 1
    assert msgspec.yaml.decode((reports / "yaml.out").read_bytes()) == msgspec.json.decode(document)
    assert "<h2>Pod ops/lone (added)</h2>" in (reports / "html.out").read_text()
    assert (reports / "table.out").read_text().startswith("Pod ops/lone  added\n")


SELECTED = {
    "a namespace": (["-n", "shop"], "0 new findings", "1 spread worse"),
    "a rule": (["--rules", "TSC114"], "0 new findings, 0 worse, 0 better, 0 resolved, 1 unch", ""),
    "without a rule": (["--exclude-rules", "TSC001"], "0 new findings", ""),
}


@pytest.mark.parametrize(("options", "counts", "spreads"), SELECTED.values(), ids=SELECTED)
def test_both_reports_are_narrowed(
    options: list[str], counts: str, spreads: str, reports: Path, run: Run
) -> None:
    saved = run("audit", "--since", "old.json", "--report", "new.json", *options)
    audited = run("audit", "-f", "all.yaml", "--since", "old.json", *options)

    assert (saved.code, saved.out) == (0, audited.out)
    last = saved.out.splitlines()[-1]
    assert last.startswith(counts)
    assert spreads in last


REFUSED = {
    "a report alone": (["--report", "new.json"], "name an earlier report"),
    "a format": (["-f", ".", "--since", "old.json", "-o", "sarif"], "use one of table, json, yaml"),
    "labels": (["-f", ".", "--since", "old.json", "-l", "app=web"], "leave -l out"),
    "a baseline": (
        ["-f", ".", "--since", "old.json", "--since-baseline", "old.json"],
        "leave --since-baseline out",
    ),
    "files": (["-f", ".", "--since", "old.json", "--report", "new.json"], "nothing is audited"),
    "a snapshot": (
        ["--snapshot", "s.gz", "--since", "old.json", "--report", "new.json"],
        "nothing is audited",
    ),
}


@pytest.mark.parametrize(("options", "words"), REFUSED.values(), ids=REFUSED)
def test_options_that_do_not_fit_are_refused(
    options: list[str], words: str, reports: Path, run: Run
) -> None:
    ran = run("audit", *options)

    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_what_is_no_report_cannot_be_compared(reports: Path, run: Run) -> None:
    ran = run("audit", "--since", "all.yaml", "--report", "new.json")

    assert ran.code == 3
    assert "all.yaml: is no audit report" in ran.err


def test_without_changes_only_the_counts_are_written(reports: Path, run: Run) -> None:
    ran = run("audit", "--since", "new.json", "--report", "new.json", "--fail-on", "audit")

    assert ran.code == 0
    assert len(ran.out.splitlines()) == 1
    assert ran.out.startswith("0 new findings, 0 worse")
