"""
For every API rule a manifest that violates it and one that passes.

The reference shows them, and the tests run them. The texts of the rules are in
``policy.catalogue``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from webhook.policy.model import MAX_CONSTRAINTS


class RuleExample(NamedTuple):
    """
    Two manifests in YAML.

    Attributes:
        violates: Violates this rule and no other API rule.
        passes: The same manifest without the violation.
    """

    violates: str
    passes: str


_POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  containers:
  - {name: web, image: nginx}
  topologySpreadConstraints:
"""

_CONSTRAINT = {
    "maxSkew": "1",
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": "{matchLabels: {app: web}}",
}


def _entry(**changes: str) -> str:
    """Write a constraint in YAML; a member changed to an empty text is omitted."""
    members = {key: value for key, value in {**_CONSTRAINT, **changes}.items() if value}
    return "  - " + "\n    ".join(f"{key}: {value}" for key, value in members.items()) + "\n"


def _pod(*entries: str) -> str:
    return _POD + "".join(entries)


def _short(number: int) -> str:
    """Write this number of constraints, one per line."""
    return "".join(
        f"  - {{maxSkew: 1, topologyKey: rack-{i}, whenUnsatisfiable: ScheduleAnyway, "
        "labelSelector: {matchLabels: {app: web}}}\n"
        for i in range(number)
    )


API_EXAMPLES: Mapping[str, RuleExample] = MappingProxyType(
    {
        "TSC001": RuleExample(_pod(_entry(maxSkew="0")), _pod(_entry())),
        "TSC002": RuleExample(_pod(_entry(topologyKey="")), _pod(_entry())),
        "TSC003": RuleExample(
            _pod(_entry(whenUnsatisfiable="Maybe")),
            _pod(_entry(whenUnsatisfiable="ScheduleAnyway")),
        ),
        "TSC004": RuleExample(
            _pod(_entry(), _entry(maxSkew="2")),
            _pod(_entry(), _entry(topologyKey="kubernetes.io/hostname", maxSkew="2")),
        ),
        "TSC005": RuleExample(_pod(_entry(minDomains="0")), _pod(_entry(minDomains="3"))),
        "TSC006": RuleExample(
            _pod(_entry(whenUnsatisfiable="ScheduleAnyway", minDomains="3")),
            _pod(_entry(minDomains="3")),
        ),
        "TSC007": RuleExample(
            _pod(_entry(nodeTaintsPolicy="Sometimes")), _pod(_entry(nodeTaintsPolicy="Honor"))
        ),
        "TSC008": RuleExample(
            _pod(_entry(labelSelector="", matchLabelKeys="[pod-template-hash]")),
            _pod(_entry(matchLabelKeys="[pod-template-hash]")),
        ),
        "TSC009": RuleExample(
            _pod(_entry(labelSelector="{matchLabels: {app: -web-}}")), _pod(_entry())
        ),
        "TSC010": RuleExample(_pod(_short(MAX_CONSTRAINTS + 1)), _pod(_short(2))),
        "TSC020": RuleExample(
            _pod(_entry(topologyKey="failure-domain.beta.kubernetes.io/zone")), _pod(_entry())
        ),
        "TSC021": RuleExample(_pod(_entry(labelSelector="")), _pod(_entry())),
    }
)
"""Rule id -> its examples; the reference may shorten the long list of TSC010."""
