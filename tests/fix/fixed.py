"""Manifests fixed as the command fixes them, without files."""

from collections.abc import Mapping

from webhook.audit.collect import ManifestCollector
from webhook.audit.merge import as_context
from webhook.audit.snapshot import Snapshot
from webhook.cli.inputs.policy import RequestedPolicy
from webhook.config.configuration import Configuration
from webhook.config.gates import gates_in_force
from webhook.fix.engine import FixOutcome, fix_files
from webhook.fix.evaluate import Evaluation, FixOptions
from webhook.fix.finding import FindingContext
from webhook.fix.report import RemainingFinding
from webhook.manifests import Document, expand, parse
from webhook.policy.api.versions import NEWEST_VERSION, Version

SOURCE = "web.yaml"


def options(
    *rules: str, version: Version = NEWEST_VERSION, configuration: Configuration | None = None
) -> FixOptions:
    """Evaluate by a version, and fix findings of some rules, or of all."""
    used = configuration or Configuration()
    gates = gates_in_force(used, version, "", allow_locked=False)
    requested = RequestedPolicy(used, gates, is_configured=configuration is not None)
    named = frozenset(rules)
    return FixOptions(used, requested.audit_policy, named, named)


def objects(text: str) -> list[Document]:
    """List the objects of a text."""
    items = parse(text, "cluster.yaml")
    return [one for item in items if isinstance(item, Document) for one in expand(item)]


def context(text: str) -> Snapshot:
    """Collect the objects of a text as the cluster around a file."""
    collector = ManifestCollector(Configuration())
    for document in objects(text):
        collector.add(document, requested=False)
    return as_context(collector.snapshot)


def context_of(text: str, rule: str) -> FindingContext:
    """Evaluate the only object of a text, and build the context of its only finding of a rule."""
    evaluation = Evaluation.of_documents(objects(text), Snapshot(), options())
    (evaluated,) = evaluation.evaluate_objects()
    (finding,) = (found for found in evaluated.findings if found.rule == rule)
    return FindingContext(
        finding, evaluated.document.value, evaluated.audited.subject, evaluation.grounds
    )


def run_fix(
    texts: str | Mapping[str, str], by: FixOptions | None = None, cluster: str = ""
) -> FixOutcome:
    """Fix one text, or several by their names."""
    named = {SOURCE: texts} if isinstance(texts, str) else texts
    return fix_files(named, context(cluster), by or options())


def reasons(left: tuple[RemainingFinding, ...]) -> dict[str, str]:
    """Map rules to the reasons why their findings are left; each rule has one finding."""
    return {finding.rule: finding.reason for finding in left}


TAINTED = """\
---
apiVersion: v1
kind: Node
metadata:
  name: cp
  labels: {topology.kubernetes.io/zone: zone-a, kubernetes.io/hostname: cp}
spec: {taints: [{key: control-plane, effect: NoSchedule}]}
"""


UNEVEN = "".join(
    f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: "
    f"{{topology.kubernetes.io/zone: {name[0]}, kubernetes.io/hostname: {name}}}}}\n"
    for name in ("a1", "a2", "a3", "b1")
)


def deployment(constraints: str, labels: str = "{app: web}", replicas: int = 3) -> str:
    """A Deployment whose constraints are lines of YAML, indented by six blanks or so."""
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: {replicas}
  template:
    metadata:
      labels: {labels}
    spec:
      containers: [{{name: web, image: nginx}}]  # one
{constraints}"""
