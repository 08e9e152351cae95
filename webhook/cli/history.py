"""``evenspread audit --since``: compare an audit, or a saved report, with an earlier report."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from webhook.audit.baseline import load_report
from webhook.audit.compare import compare_reports
from webhook.audit.comparison import AuditComparison
from webhook.audit.renderers.comparison import (
    COMPARISON_FORMATS,
    format_lines,
    render_comparison,
)
from webhook.audit.report import AuditFinding, AuditReport
from webhook.audit.scan import AuditOptions, summarise
from webhook.cli.output import TABLE, OutputTarget, write_text
from webhook.cli.terminal import Style, Terminal
from webhook.errors import ConfigError
from webhook.policy.selectors import SELECT_ALL


def require_comparable(
    since: str, output: Iterable[OutputTarget], question: AuditOptions, *, has_baseline: bool
) -> None:
    """
    Require an earlier report, and options that a comparison can respect.

    Raises:
        ConfigError: An option does not fit ``--since``, or it is missing beside ``--report``.
    """
    if not since:
        raise ConfigError("name an earlier report to compare with by --since", "--report")
    for target in output:
        if target.format not in COMPARISON_FORMATS:
            known = ", ".join(COMPARISON_FORMATS)
            raise ConfigError(f"{target.format} shows no comparison: use one of {known}", "--since")
    if has_baseline:
        raise ConfigError("leave --since-baseline out: a comparison lists new findings", "--since")
    if question.labels != SELECT_ALL:
        raise ConfigError("leave -l out: the earlier report contains no labels", "--since")


def require_saved(sources: Iterable[str], *, is_live: bool) -> None:
    """
    Require that a saved report stands in place of an audit.

    Raises:
        ConfigError: A source is named too.
    """
    if is_live or any(sources):
        raise ConfigError("leave other sources out: nothing is audited", "--report")


def compare_with(
    earlier: str, later: AuditReport, question: AuditOptions, output: Iterable[OutputTarget]
) -> AuditComparison:
    """
    Compare a report with an earlier one, and write every output.

    Args:
        earlier: File of the earlier report.
        question: What was audited now; findings of other namespaces and rules are left out.

    Raises:
        SourceError: The earlier report cannot be read, or an output cannot be written.
    """
    comparison = compare_reports(narrow_report(load_report(earlier), question), later)
    for target in output:
        if not target.file and target.format == TABLE:
            Terminal().lines(
                [(text, Style[meaning.name]) for text, meaning in line]
                for line in format_lines(comparison)
            )
        else:
            write_text(render_comparison(comparison, target.format), target)
    return comparison


def compare_saved(
    earlier: str, later: str, question: AuditOptions, output: Iterable[OutputTarget]
) -> AuditComparison:
    """
    Compare two saved reports, and write every output.

    Raises:
        SourceError: A report cannot be read, or an output cannot be written.
    """
    return compare_with(earlier, narrow_report(load_report(later), question), question, output)


def narrow_report(report: AuditReport, question: AuditOptions) -> AuditReport:
    """Leave out the namespaces and the findings of rules that are not requested."""

    def select(findings: Iterable[AuditFinding]) -> Iterator[AuditFinding]:
        return (item for item in findings if question.includes_rule(item.rule))

    workloads = tuple(
        replace(item, findings=tuple(select(item.findings)), exempted=tuple(select(item.exempted)))
        for item in report.workloads
        if question.includes_namespace(item.namespace)
    )
    summary = summarise(workloads, nodes=report.summary.nodes, known=report.summary.known)
    return replace(report, workloads=workloads, summary=summary)
