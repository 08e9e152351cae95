"""
Objects to explain whose pod template is in another object: an Argo Rollout with ``workloadRef``.

``follow_reference`` is the entry point. The pods of such a Rollout have the template of a
Deployment, and the Rollout's own number of replicas.
"""

import msgspec
from msgspec.structs import replace

from webhook.audit.references import decode_reference
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.subjects import ExplainSubject, Templates
from webhook.errors import SourceError
from webhook.policy.kinds import POD
from webhook.policy.paths import find_value, is_object


def follow_reference(
    subject: ExplainSubject, templates: Templates, cluster: ClusterReader
) -> ExplainSubject:
    """
    Return a subject with the template that it refers to; the subject itself if it refers to none.

    Raises:
        SourceError: The object that it refers to is not known, or has no pod template.
    """
    if subject.kind == POD or find_value(subject.value, subject.path) is not None:
        return subject
    try:
        target = decode_reference(msgspec.json.encode(subject.value), subject.kind)
    except msgspec.DecodeError:
        return subject  # reading its template reports the type error
    if target is None:
        return subject
    held = cluster.find(target.target, subject.namespace, target.template)
    places = templates.get(target.target)
    template = held and isinstance(places, tuple) and find_value(held, places)
    if held is None or not is_object(template):
        named = f"{target.target.kind}/{target.template}"
        problem = f"its pod template is in {named}, which is unknown: name its file with --facts"
        raise SourceError(str(subject), problem)
    spec = subject.value["spec"]
    selector = spec.get("selector") or find_value(held, ("spec", "selector"))
    complete = {**spec, "template": template, "selector": selector}
    return replace(subject, value={**subject.value, "spec": complete})
