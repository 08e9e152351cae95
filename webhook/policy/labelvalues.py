"""
The values of labels that controllers add to pods, as far as they follow from the workload.

``find_values`` is the entry point; ``renew_labels`` gives a next pod the values that no other pod
has. Which labels there are is the subject of ``podlabels``, what they contain that of
``firstlabels``.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import count
from types import MappingProxyType

import msgspec

from webhook.policy import kinds
from webhook.policy.firstlabels import CONTROLLER_NAMES, LABEL_PLACEHOLDERS
from webhook.policy.model import GroupKind
from webhook.policy.podlabels import ADDED_LABELS, KNATIVE_REVISION

_VARIES: Mapping[str, str] = MappingProxyType(
    {
        "<uid>": "object",
        "<ordinal>": "pod",
        "<worker>": "pod",
        "<minutes>": "Job",
        "<index>": "Job",
        "<group>": "group",
        "<revision>": "revision",
    }
)
"""Unknown part of a value -> what it differs by; a value with none of them is known exactly."""

_RUNS: Mapping[GroupKind, str] = MappingProxyType(
    {
        kinds.CRON_JOB: "<minutes>",
        kinds.JOB_SET: "<index>",
        kinds.LEADER_WORKER_SET: "<group>",
    }
)
"""
Kind -> the number in the names of its Jobs, or of its groups.

Of a CronJob, it is the minutes of the time of the Job since 1970.

Source: kubernetes pkg/controller/cronjob cronjob_controllerv2.go ``getJobName``.
"""

_NAMES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("app", "deployment", KNATIVE_REVISION), "{workload}-<revision>")
)
"""
Label with the name of a revision -> template of its value, in place of that of the first pod.

The name of a Knative Revision may be written in the template, but must begin like generated ones.

Source: knative serving pkg/reconciler/revision/resources/meta.go ``makeLabels`` and
pkg/apis/serving/v1/revision_validation.go ``validateRevisionName``; openshift library-go
pkg/apps/appsutil ``LatestDeploymentNameForConfig``.
"""

LONGEST_OWNER = 57
"""
Characters of the longest name with which that of a revision begins; of others, it has a hash.

Source: knative pkg/kmeta/names.go ``ChildName``.
"""

_MAX_INT32 = 2**31 - 1  # as no index of a pod
_NUMBER = "(?:0|[1-9][0-9]{0,9})"
_unknown = re.compile("(<[a-z]+>)")
_integer = re.compile("[0-9]{1,9}", re.ASCII).fullmatch


class LabelValues(msgspec.Struct, frozen=True):
    """
    The values of a label on the pods of a workload.

    Attributes:
        outline: The value; what is not known is in angle brackets, as in ``nightly-<minutes>``.
        numbers: What the number in the value can be; None if that is not known.
    """

    outline: str
    numbers: range | None = None

    @property
    def varies(self) -> str:
        """What the value differs by, as a pod or a Job; empty if all pods have it."""
        return next((what for part, what in _VARIES.items() if part in self.outline), "")

    @property
    def limits(self) -> str:
        """The first and the last number, as ``, from 1 to 3``; empty if the value is known."""
        if self.numbers is None or not self.varies:
            return ""
        last = self.numbers[-1]
        return f", from {self.numbers[0]}{f' to {last}' if last < _MAX_INT32 else ''}"

    def allows(self, value: str) -> bool:
        """Whether a pod may have a value; no file knows what kube-apiserver will generate."""
        if "<uid>" in self.outline:
            return False
        parts = _unknown.split(self.outline)
        pattern = "".join(_match_part(part) for part in parts)
        found = re.fullmatch(pattern, value, re.ASCII)
        if found is None or self.numbers is None:
            return found is not None
        return not found.lastindex or int(found[1]) in self.numbers


def _match_part(part: str) -> str:
    """Return the pattern of a part of an outline."""
    if part == "<revision>":
        return ".+"
    return f"({_NUMBER})" if part in _VARIES else re.escape(part)


def find_values(
    kind: GroupKind, key: str, name: str, part: str = "", numbers: range | None = None
) -> LabelValues | None:
    """
    Find the values of a label that the controllers of a kind add to its pods.

    Args:
        name: Of the workload; empty if it is not known.
        part: Name of the pod template, if the workload has several.
        numbers: Those of the pods in each group of a LeaderWorkerSet, or of the Jobs of a JobSet.

    Returns:
        None if they are not known, as those of another label, and hashes of revisions.
    """
    added = ADDED_LABELS.get(kind)
    if added is None or key not in added.keys | added.unique or key not in LABEL_PLACEHOLDERS:
        return None
    named = {"workload": name, "part": part, "run": _RUNS.get(kind, "")}
    if key in _NAMES and len(name) > LONGEST_OWNER:
        return None
    fields = {"uid": "<uid>", "ordinal": "<ordinal>"}
    fields |= {key: value for key, value in named.items() if value}
    template = _NAMES.get(key, LABEL_PLACEHOLDERS[key])
    if template == "{worker}":
        return _number_values(numbers) if numbers else None
    template = template.replace("{controller}", CONTROLLER_NAMES.get(kind, "{?}"))
    try:
        outline = template.format_map(fields)
    except KeyError:
        return None  # a part is not known
    return LabelValues(outline, numbers if numbers and "<index>" in outline else None)


def _number_values(members: range) -> LabelValues:
    """Build the values of a label that numbers pods; at least one."""
    return LabelValues("<worker>" if len(members) > 1 else str(members[0]), members)


def renew_labels(
    labels: Mapping[str, str], unique: Collection[str], others: Iterable[Mapping[str, str]]
) -> dict[str, str]:
    """
    Renew the labels of a pod of which no two pods have the same value, for one more pod.

    Args:
        unique: The keys of these labels.
        others: The labels of the pods that there are; the labels are those of one of them.

    Returns:
        The labels with the smallest number that no pod has in its value, at the end of the value.
    """
    own = {key: labels[key] for key in unique if key in labels}
    if not own:
        return {**labels}
    taken = {_split(pod.get(key, ""))[1] for pod in others for key in own}
    number = next(one for one in count() if one not in taken)
    return {**labels, **{key: f"{_split(value)[0]}{number}" for key, value in own.items()}}


def _split(value: str) -> tuple[str, int]:
    """Split a value into what is before its number, and the number; -1 without one."""
    head, dash, last = value.rpartition("-")
    return (f"{head}{dash}", int(last)) if _integer(last) else (f"{value}-", -1)
