"""
For every rule of the API and of strict decoding a manifest that violates it and one that passes.

The reference shows them, and the tests run them. The texts of the rules are in
``policy.catalogue``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from webhook.policy.model import MAX_CONSTRAINTS


@dataclass(frozen=True)
class RuleExample:
    """Two manifests in YAML: one violates this API rule and no other, one passes."""

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


def _pod(*constraints: dict[str, str]) -> str:
    """Write a pod with a usual constraint for each of the changes; an empty text omits a member."""
    entries = (
        "\n    ".join(f"{key}: {value}" for key, value in (_CONSTRAINT | changes).items() if value)
        for changes in constraints
    )
    return _POD + "".join(f"  - {entry}\n" for entry in entries)


def _short(number: int) -> str:
    """Write this number of constraints, one per line."""
    return "".join(
        f"  - {{maxSkew: 1, topologyKey: rack-{i}, whenUnsatisfiable: ScheduleAnyway, "
        "labelSelector: {matchLabels: {app: web}}}\n"
        for i in range(number)
    )


_EXAMPLES: Mapping[str, tuple[str, str]] = {
    "TSC001": (_pod({"maxSkew": "0"}), _pod({})),
    "TSC002": (_pod({"topologyKey": ""}), _pod({})),
    "TSC003": (
        _pod({"whenUnsatisfiable": "Maybe"}),
        _pod({"whenUnsatisfiable": "ScheduleAnyway"}),
    ),
    "TSC004": (
        _pod({}, {"maxSkew": "2"}),
        _pod({}, {"topologyKey": "kubernetes.io/hostname", "maxSkew": "2"}),
    ),
    "TSC005": (_pod({"minDomains": "0"}), _pod({"minDomains": "3"})),
    "TSC006": (
        _pod({"whenUnsatisfiable": "ScheduleAnyway", "minDomains": "3"}),
        _pod({"minDomains": "3"}),
    ),
    "TSC007": (_pod({"nodeTaintsPolicy": "Sometimes"}), _pod({"nodeTaintsPolicy": "Honor"})),
    "TSC008": (
        _pod({"labelSelector": "", "matchLabelKeys": "[pod-template-hash]"}),
        _pod({"matchLabelKeys": "[pod-template-hash]"}),
    ),
    "TSC009": (_pod({"labelSelector": "{matchLabels: {app: -web-}}"}), _pod({})),
    "TSC010": (_POD + _short(MAX_CONSTRAINTS + 1), _POD + _short(2)),
    "TSC020": (_pod({"topologyKey": "failure-domain.beta.kubernetes.io/zone"}), _pod({})),
    "TSC021": (_pod({"labelSelector": ""}), _pod({})),
}

API_EXAMPLES: Mapping[str, RuleExample] = MappingProxyType(
    {rule: RuleExample(*manifests) for rule, manifests in _EXAMPLES.items()}
)
"""Rule id -> its examples; the reference may shorten the long list of TSC010."""

STRICT_EXAMPLES: Mapping[str, RuleExample] = MappingProxyType(
    {
        "TSC011": RuleExample(
            _pod({"minDomain": "3"}),
            _pod({"minDomains": "3"}),
        ),
        "TSC012": RuleExample(
            _pod({"maxSkew": "1\n    maxSkew: 2"}),
            _pod({"maxSkew": "2"}),
        ),
    }
)
"""Rule id -> manifests with an error of strict decoding, and without it."""
