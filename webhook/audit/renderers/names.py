"""The workloads with findings as names for kubectl, such as ``deployment.apps/web``."""

from webhook.audit.rendering import RenderOptions
from webhook.audit.report import AuditReport
from webhook.policy.escape import printable
from webhook.policy.model import GroupKind, group_of


def render(report: AuditReport, _options: RenderOptions) -> str:
    """Render a line for each workload with findings; as with kubectl, it has no namespace."""
    names = [
        format_name(workload.api_version, workload.kind, workload.name)
        for workload in report.workloads
        if workload.findings
    ]
    return "".join(f"{name}\n" for name in names)


def format_name(api_version: str, kind: str, name: str) -> str:
    """Format the name of an object as ``kubectl -o name`` does; the text is printable."""
    return format_reference(GroupKind(group_of(api_version), kind), name)


def format_reference(kind: GroupKind, name: str) -> str:
    """Format the name of an object of a kind likewise."""
    resource = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    return printable(f"{resource.lower()}/{name}")
