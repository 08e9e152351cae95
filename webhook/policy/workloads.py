"""
One type for the objects of all built-in kinds that hold a pod specification.

``Workload`` is decoded from a review, ``Workload.pod_template`` finds the pod template in it. The
paths of the templates are in ``kinds``.

Source: k8s.io/api core/v1, apps/v1 and batch/v1 types.go.
"""

import msgspec

from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import ObjectMeta, PodSpec, PodTemplate
from webhook.policy.paths import FieldPath


class JobTemplateSpec(msgspec.Struct, frozen=True, gc=False):
    """The specification in a job template, reduced to the pod template."""

    template: PodTemplate | None = None


class JobTemplate(msgspec.Struct, frozen=True, gc=False):
    """The job template of a CronJob, reduced to its specification."""

    spec: JobTemplateSpec | None = None


class WorkloadSpec(PodSpec, frozen=True, rename="camel", gc=False):
    """
    The specification of any built-in kind: a pod's own, or one that contains a template.

    One type for all kinds allows decoding a review in one pass, before its kind is known.
    """

    template: PodTemplate | None = None
    job_template: JobTemplate | None = None


class Workload(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An object of any built-in kind with a pod specification, as it is encoded on the wire."""

    api_version: str | None = None
    kind: str | None = None
    metadata: ObjectMeta | None = None
    spec: WorkloadSpec | None = None
    template: PodTemplate | None = None

    def pod_template(self, path: FieldPath) -> PodTemplate | None:
        """
        Find the pod template.

        Returns:
            None if the object has no value at that path.
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


BUILT_IN_PATHS = frozenset(BUILT_IN_TEMPLATES.values())
"""The paths of pod templates in the objects that ``Workload`` can represent."""
