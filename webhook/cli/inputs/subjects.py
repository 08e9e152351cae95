"""Which objects a question names: ``pod/web-1``, or those that stand in manifests."""

from collections.abc import Iterable, Iterator, Mapping

from webhook.cli.inputs.cluster import Surroundings
from webhook.cli.inputs.found import Found
from webhook.errors import ConfigError, SourceError
from webhook.manifests import Document
from webhook.policy.model import GroupKind, group_of
from webhook.policy.workloads import POD, TemplatePath

Templates = Mapping[GroupKind, TemplatePath]

SHORT_KINDS = {
    "po": "pod",
    "rc": "replicationcontroller",
    "deploy": "deployment",
    "rs": "replicaset",
    "sts": "statefulset",
    "ds": "daemonset",
    "cj": "cronjob",
}
"""As kubectl knows them. Source: the ``shortNames`` of kube-apiserver's resources."""

_PLURAL = "s"


def parse_subject(written: str, templates: Templates) -> tuple[tuple[GroupKind, ...], str]:
    """
    Read a subject as kubectl does: ``pod/web-1``, ``deploy/web``; a name alone is that of a pod.

    Returns:
        The kinds that are called so, built-in ones first, and the name.

    Raises:
        ConfigError: No kind with a pod template is called so, or there is no name.
    """
    kind, slash, name = written.rpartition("/")
    called = (kind if slash else POD.kind).lower()
    called = SHORT_KINDS.get(called, called)
    kinds = tuple(each for each in templates if _is_called(each, called))
    if not kinds:
        known = ", ".join(sorted({each.kind.lower() for each in templates}))
        raise ConfigError(f"{kind!r} is no kind with a pod template: write one of {known}", written)
    if not name:
        raise ConfigError("no name: write one as in pod/web-1", written)
    return kinds, name


def find(written: str, namespace: str, templates: Templates, surroundings: Surroundings) -> Found:
    """
    Find an object of the cluster.

    Raises:
        ConfigError: The subject cannot be read.
        SourceError: There is no such object.
    """
    kinds, name = parse_subject(written, templates)
    for kind in kinds:
        value = surroundings.find(kind, namespace, name)
        if value is not None:
            return Found(kind, templates[kind], namespace, value, exists=True)
    elsewhere = [there for kind in kinds for there in surroundings.namespaces_of(kind, name)]
    problem = (
        f"there is none here, but in namespace {elsewhere[0]}: add -n {elsewhere[0]}"
        if elsewhere
        else "there is none: look at its name and its namespace"
    )
    raise SourceError(f"{kinds[0].kind} {namespace}/{name}", problem)


def in_manifests(
    documents: Iterable[Document], written: str, namespace: str, templates: Templates
) -> Iterator[Found]:
    """
    Find the objects of manifests that hold a pod template.

    Args:
        written: The subject to choose, of the same form; empty chooses all.
        namespace: Of objects that name none.
    """
    chosen = parse_subject(written, templates) if written else None
    for document in documents:
        kind = GroupKind(group_of(document.api_version), document.kind)
        if kind not in templates:
            continue
        if chosen is None or (kind in chosen[0] and document.name == chosen[1]):
            inside = document.namespace or namespace
            yield Found(kind, templates[kind], inside, document.value, exists=False)


def _is_called(kind: GroupKind, called: str) -> bool:
    name = kind.kind.lower()
    return called in (name, name + _PLURAL, f"{name}.{kind.group}", f"{name}s.{kind.group}")
