"""
One type for the objects of all built-in kinds that hold a pod specification.

``Workload`` is decoded from a review, ``Workload.pod_template`` finds the pod template in it. The
paths of the templates are in ``kinds``.

Source: k8s.io/api core/v1, apps/v1 and batch/v1 types.go.
"""

import msgspec

from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import ObjectMeta, PodSpec, PodTemplate
from webhook.policy.paths import TemplatePath


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
            path: One of the values of ``BUILT_IN_TEMPLATES``.

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


_BUILT_IN_PATHS = frozenset(BUILT_IN_TEMPLATES.values())


def is_built_in_path(path: TemplatePath) -> bool:
    """Whether ``Workload`` can hold an object whose pod template stands at this path."""
    return path in _BUILT_IN_PATHS
