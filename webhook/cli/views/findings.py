"""
Findings of ``validate`` as text: place, problem, and what to write instead.

Every finding starts with file and line in the format of compilers, so that editors can jump there.
"""

from collections.abc import Iterable, Iterator

from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.validation import Cause, ValidationNotice, ValidationReport
from webhook.policy.api.gates import Gate, Gates, Stage


def show(report: ValidationReport, terminal: Terminal) -> None:
    """Write all findings about an object; nothing if there are none."""
    subject = name_of(report.kind, report.namespace, report.name)
    show_causes(report.source, subject, report.causes, terminal)
    for heading, notices in (("warning", report.warnings), ("dropped", report.dropped)):
        for notice in notices:
            place = (f"{report.source}:{notice.line}", Style.PLACE)
            message = f": {notice.message} [{notice.rule}]"
            terminal.line(place, f": {subject}: ", (heading, Style.DOUBTFUL), message)
            _show_fix(notice, terminal)


def show_causes(source: str, subject: str, causes: Iterable[Cause], terminal: Terminal) -> None:
    """Write why an object is denied."""
    for cause in causes:
        place = (f"{source}:{cause.line}", Style.PLACE)
        rule = f" [{cause.rule}]" if cause.rule else ""
        message = f": {cause.field}: {cause.message}{rule}"
        terminal.line(place, f": {subject}: ", ("denied", Style.BAD), message)
        _show_fix(cause, terminal)


def name_of(kind: str, namespace: str, name: str) -> str:
    """Render the name of an object: ``Pod shop/web``."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}".rstrip()


def describe_support(gates: Gates) -> str:
    """Describe in one sentence which fields an API server supports, and its matchLabelKeys."""
    return f"Kubernetes {gates.version} {'; '.join(_describe_fields(gates))}"


def _describe_fields(gates: Gates) -> Iterator[str]:
    if Gate.EVEN_PODS_SPREAD not in gates:
        yield f"drops topologySpreadConstraints, since {Gate.EVEN_PODS_SPREAD} is off"
        return
    unknown = [field for field, gate in gates.fields_off.items() if not _exists(gate, gates)]
    dropped = [field for field, gate in gates.fields_off.items() if _exists(gate, gates)]
    if unknown:
        yield f"does not know {', '.join(unknown)}"
    if dropped:
        yield f"drops {', '.join(dropped)}, since the feature gate is off"
    if not gates.fields_off:
        yield "knows every field"
    if Gate.SELECTOR_MERGE in gates:
        yield "merges matchLabelKeys into the selector of a new pod"
    elif Gate.MATCH_LABEL_KEYS in gates:
        yield "refuses a key in both matchLabelKeys and labelSelector"


def _exists(gate: Gate, gates: Gates) -> bool:
    return gates.settings[gate].stage is not Stage.ABSENT


def _show_fix(finding: Cause | ValidationNotice, terminal: Terminal) -> None:
    terminal.line("    instead: ", (finding.fix, Style.HINT))
