"""What remarks tell people to write, where more than one rule says it."""

from collections.abc import Mapping

from webhook.policy import render
from webhook.policy.advice.flow import member
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, STATEFUL_SET
from webhook.policy.model import LabelSelector

NAMING_LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app", "k8s-app", "name")
"""Labels by which people tell workloads apart, the best known first."""

RESTARTABLE = frozenset({DEPLOYMENT, DAEMON_SET, STATEFUL_SET})  # kinds that kubectl can restart


def naming_first(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels in the order in which they are good at telling workloads apart."""
    first = {key: labels[key] for key in NAMING_LABELS if key in labels}
    return first | dict(sorted(labels.items()))


def suggest_selector(subject: Subject) -> str:
    """A selector that matches a subject's own pods, in YAML."""
    return member("labelSelector", render.selector(own_selector(subject)))


def own_selector(subject: Subject) -> LabelSelector:
    """
    A selector that matches a subject's own pods: by the labels that name it, else by all.

    A pod without labels can be selected by none: then by one that it should be given.
    """
    naming = {key: subject.labels[key] for key in NAMING_LABELS if key in subject.labels}
    name = subject.metadata.name or "web"
    return LabelSelector(naming or dict(sorted(subject.labels.items())) or {"app": name})


def restart(subject: Subject) -> str:
    """How to have a workload make all its pods anew; a comment, since there is nothing to write."""
    if subject.kind in RESTARTABLE:
        namespace = f" -n {subject.namespace}" if subject.namespace else ""
        kind, _, name = str(subject).partition("/")
        return f"# kubectl rollout restart {kind.lower()}/{name}{namespace}"
    return "# delete the pods one after another: those made in their place are spread anew"
