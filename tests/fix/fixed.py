"""Manifests fixed as the command fixes them, without files."""

from collections.abc import Mapping

from webhook.config import Configuration, gates_in_force, policy
from webhook.fix.engine import FixOutcome, fix_files
from webhook.fix.evaluate import FixOptions
from webhook.fix.report import RemainingFinding
from webhook.manifests import Document, expand, parse
from webhook.policy.api.versions import NEWEST_VERSION, Version

SOURCE = "web.yaml"


def options(
    *rules: str, version: Version = NEWEST_VERSION, configuration: Configuration | None = None
) -> FixOptions:
    """Judge by a version, and fix findings of some rules, or of all."""
    configuration = configuration or Configuration()
    gates = gates_in_force(configuration, version, "", allow_locked=False)
    return FixOptions(configuration, policy(configuration, gates), frozenset(rules))


def objects(text: str) -> list[Document]:
    """The objects of a text."""
    read = [each for each in parse(text, "cluster.yaml") if isinstance(each, Document)]
    return [each for document in read for each in expand(document)]


def run_fix(
    texts: str | Mapping[str, str], by: FixOptions | None = None, cluster: str = ""
) -> FixOutcome:
    """Mend one text, or several by their names."""
    named = {SOURCE: texts} if isinstance(texts, str) else texts
    return fix_files(named, objects(cluster), by or options())


def reasons(left: tuple[RemainingFinding, ...]) -> dict[str, str]:
    """Rule -> why it was left, for findings of different rules."""
    return {each.rule: each.reason for each in left}


NODES = "".join(
    f"""\
---
apiVersion: v1
kind: Node
metadata:
  name: node-{zone}
  labels: {{topology.kubernetes.io/zone: zone-{zone}, kubernetes.io/hostname: node-{zone}}}
"""
    for zone in "abc"
)

TAINTED = """\
---
apiVersion: v1
kind: Node
metadata:
  name: cp
  labels: {topology.kubernetes.io/zone: zone-a, kubernetes.io/hostname: cp}
spec: {taints: [{key: control-plane, effect: NoSchedule}]}
"""


def deployment(constraints: str, labels: str = "{app: web}", replicas: int = 6) -> str:
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
