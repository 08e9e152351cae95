"""
Where a pod's specification stands in each kind, built-in or configured.

Source: k8s.io/api core/v1, apps/v1 and batch/v1 types.go.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from webhook.policy.model import GroupKind, ObjectMeta, PodSpec, PodTemplate

TemplatePath = tuple[str, ...]
"""Member names from the object to its pod template; empty where the object is the pod itself."""

POD = GroupKind("", "Pod")

BUILT_IN: Mapping[GroupKind, TemplatePath] = MappingProxyType(
    {
        POD: (),
        GroupKind("", "ReplicationController"): ("spec", "template"),
        GroupKind("", "PodTemplate"): ("template",),
        GroupKind("apps", "Deployment"): ("spec", "template"),
        GroupKind("apps", "ReplicaSet"): ("spec", "template"),
        GroupKind("apps", "StatefulSet"): ("spec", "template"),
        GroupKind("apps", "DaemonSet"): ("spec", "template"),
        GroupKind("batch", "Job"): ("spec", "template"),
        GroupKind("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
    }
)


class JobTemplateSpec(msgspec.Struct, frozen=True, gc=False):
    """The part of a job template that holds the pod template."""

    template: PodTemplate | None = None


class JobTemplate(msgspec.Struct, frozen=True, gc=False):
    """The part of a CronJob that holds the job's specification."""

    spec: JobTemplateSpec | None = None


class WorkloadSpec(PodSpec, frozen=True, rename="camel", gc=False):
    """
    The specification of any built-in kind: a pod's own, or one that holds a template.

    One type for all kinds lets a review be decoded in one pass, before its kind is known.
    """

    template: PodTemplate | None = None
    job_template: JobTemplate | None = None


class Workload(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    An object of any built-in kind that holds a pod specification, as it stands on the wire.

    Attributes:
        api_version: Absent in the parts of a review that name the kind elsewhere.
    """

    api_version: str | None = None
    kind: str | None = None
    metadata: ObjectMeta | None = None
    spec: WorkloadSpec | None = None
    template: PodTemplate | None = None

    def pod_template(self, path: TemplatePath) -> PodTemplate | None:
        """
        What pods are made of.

        Args:
            path: The kind's row in ``BUILT_IN``.

        Returns:
            None if the object has nothing at that place.
        """
        match path:
            case ():
                return PodTemplate(self.metadata, self.spec)
            case ("template",):
                return self.template
            case ("spec", "template"):
                return self.spec.template if self.spec else None
            case _:
                job = self.spec.job_template if self.spec else None
                return job.spec.template if job and job.spec else None


_BUILT_IN_PATHS = frozenset(BUILT_IN.values())


def is_built_in_path(path: TemplatePath) -> bool:
    """Whether ``Workload`` can hold an object whose pod template stands at this path."""
    return path in _BUILT_IN_PATHS
