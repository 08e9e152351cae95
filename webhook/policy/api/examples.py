"""
For every API rule why it is, a manifest that violates it and one that passes.

The texts are for the reference; the tests run every example, so that none of them is untrue.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from webhook.policy.model import MAX_CONSTRAINTS


class RuleExample(NamedTuple):
    """
    What a rule is about, shown.

    Attributes:
        why: What goes wrong otherwise; sentences.
        violates: A manifest in YAML that breaks this rule and no other of its table.
        passes: The same, mended.
    """

    why: str
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
    """A constraint in YAML; what is changed to nothing is left out."""
    members = {key: value for key, value in {**_CONSTRAINT, **changes}.items() if value}
    return "  - " + "\n    ".join(f"{key}: {value}" for key, value in members.items()) + "\n"


def _pod(*entries: str) -> str:
    return _POD + "".join(entries)


def _short(number: int) -> str:
    """As many constraints, a line each."""
    return "".join(
        f"  - {{maxSkew: 1, topologyKey: rack-{i}, whenUnsatisfiable: ScheduleAnyway, "
        "labelSelector: {matchLabels: {app: web}}}\n"
        for i in range(number)
    )


API_EXAMPLES: Mapping[str, RuleExample] = MappingProxyType(
    {
        "TSC001": RuleExample(
            "Pods come one at a time, so that some domain always holds one more than another: a "
            "skew of 0 could never be kept.",
            _pod(_entry(maxSkew="0")),
            _pod(_entry()),
        ),
        "TSC002": RuleExample(
            "The values of a node label are the domains; without a label there are none.",
            _pod(_entry(topologyKey="")),
            _pod(_entry()),
        ),
        "TSC003": RuleExample(
            "The scheduler has to know whether an uneven pod waits or runs nevertheless.",
            _pod(_entry(whenUnsatisfiable="Maybe")),
            _pod(_entry(whenUnsatisfiable="ScheduleAnyway")),
        ),
        "TSC004": RuleExample(
            "Of two demands of the same kind on the same domains the stricter one decides, and the "
            "other one only hides it.",
            _pod(_entry(), _entry(maxSkew="2")),
            _pod(_entry(), _entry(topologyKey="kubernetes.io/hostname", maxSkew="2")),
        ),
        "TSC005": RuleExample(
            "There is always at least one domain where a pod can run.",
            _pod(_entry(minDomains="0")),
            _pod(_entry(minDomains="3")),
        ),
        "TSC006": RuleExample(
            "minDomains holds pods back until there are enough domains; a soft constraint holds "
            "none back.",
            _pod(_entry(whenUnsatisfiable="ScheduleAnyway", minDomains="3")),
            _pod(_entry(minDomains="3")),
        ),
        "TSC007": RuleExample(
            "A policy either counts only the nodes that the pod may go to, or all of them.",
            _pod(_entry(nodeTaintsPolicy="Sometimes")),
            _pod(_entry(nodeTaintsPolicy="Honor")),
        ),
        "TSC008": RuleExample(
            "matchLabelKeys add to the selector what the pod's own labels say; without a selector "
            "there is nothing to add to, and a key that it names already could contradict it.",
            _pod(_entry(labelSelector="", matchLabelKeys="[pod-template-hash]")),
            _pod(_entry(matchLabelKeys="[pod-template-hash]")),
        ),
        "TSC009": RuleExample(
            "A selector that is no label selector selects no pod.",
            _pod(_entry(labelSelector="{matchLabels: {app: -web-}}")),
            _pod(_entry()),
        ),
        "TSC010": RuleExample(
            "Every constraint takes time to judge, in the webhook as in the scheduler. Nobody "
            "writes so many by hand; a list this long comes from a loop that did not end.",
            _pod(_short(MAX_CONSTRAINTS + 1)),
            _pod(_short(2)),
        ),
        "TSC020": RuleExample(
            "Kubernetes stopped setting the label on new nodes of many clouds; nodes without it "
            "are in no domain.",
            _pod(_entry(topologyKey="failure-domain.beta.kubernetes.io/zone")),
            _pod(_entry()),
        ),
        "TSC021": RuleExample(
            "A null selector matches no pod: every domain counts as empty, and nothing is spread.",
            _pod(_entry(labelSelector="")),
            _pod(_entry()),
        ),
    }
)
"""By id; TSC010 counts one constraint too many, which the reference may shorten."""
