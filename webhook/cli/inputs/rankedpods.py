"""
Pods that are ranked for a scale-down, and the nodes that they run on, from files and a cluster.

Entry point: ``read_ranked_pods``. It follows the one rule for facts: an object that stands in
several sources is taken from ``-f``, then from ``--facts``, then from the live cluster.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.facts import FactsSources, read_objects, resolve_namespace
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.namespaces import require_namespace
from webhook.cli.output import write_stderr
from webhook.cluster.discovery import ResourcePath
from webhook.cluster.facts import Cluster
from webhook.cluster.labelledpods import LabelledPod, convert_pod, list_labelled_pods
from webhook.cluster.lists import list_objects
from webhook.cluster.manifests import fill
from webhook.cluster.nodes import NodeStore
from webhook.cluster.protocol import ApiClient, FailureReason
from webhook.cluster.wire import NodeObject
from webhook.errors import ApiError
from webhook.manifests import Document, find_type_mismatch
from webhook.policy.kinds import POD
from webhook.policy.paths import format_path
from webhook.policy.selectors import SELECT_ALL

_NODES = ResourcePath("/api/v1", "nodes")
_Name = tuple[str, str]  # namespace and name


class RankedPods(NamedTuple):
    """Pods with the label, of all controllers, and the known nodes."""

    pods: list[LabelledPod]
    nodes: NodeStore


def read_ranked_pods(inputs: Inputs, sources: FactsSources, namespace: str) -> RankedPods:
    """
    Read the pods with the label, and the nodes.

    Args:
        inputs: The files of ``-f``; receives the problems of all sources.
        namespace: The only namespace to read; empty for all.

    Raises:
        ApiError: The live cluster cannot be read.
        ConfigError: The files have no such namespace.
        SourceError: A snapshot cannot be read.
    """
    cluster, pods = Cluster(), dict[_Name, LabelledPod | None]()
    inside = resolve_namespace(namespace, sources)
    own = list(inputs.objects())
    others = list(read_objects(inputs, sources.paths, ()))
    if sources.live is not None:
        for pod in _read_live(sources.live, cluster.node_store, namespace):
            pods[pod.metadata.namespace, pod.metadata.name] = pod
    for documents in (others, own):
        inputs.problems += fill(cluster, documents, namespace=inside)
        pods.update(_read_pods(documents, inside, inputs))
    if sources.live is None:
        require_namespace(namespace, {name for name, _ in pods})
    found = [pods[name] for name in sorted(pods) if namespace in ("", name[0])]
    return RankedPods([pod for pod in found if pod is not None], cluster.node_store)


def _read_live(server: ServerOptions, nodes: NodeStore, namespace: str) -> list[LabelledPod]:
    async def read(client: ApiClient) -> list[LabelledPod]:
        try:
            async for data in list_objects(client, _NODES):
                nodes.put(_decode_node(data))
        except ApiError as error:
            if error.reason is not FailureReason.FORBIDDEN:
                raise
            write_stderr(f"warning: the domains of the pods are not known: {error}")
        return await list_labelled_pods(client, namespace, SELECT_ALL)

    return apiserver.call(server, read)


def _read_pods(
    documents: Sequence[Document], namespace: str, inputs: Inputs
) -> Iterator[tuple[_Name, LabelledPod | None]]:
    """Yield the pods of files by name; None for one without the label."""
    for document in documents:
        if document.group_kind != POD:
            continue
        try:
            pod = convert_pod(document.value)
        except msgspec.ValidationError as error:
            wrong = find_type_mismatch(error, document.value)
            problem = f"Pod/{document.name}: {format_path(wrong.path)}: {wrong.problem}"
            inputs.problems.append(document.error(problem, wrong.path))
            continue
        name = (document.namespace or namespace, document.name)
        placed = replace(pod, metadata=replace(pod.metadata, namespace=name[0]))
        yield name, placed if pod.is_labelled else None


_decode_node = msgspec.json.Decoder(NodeObject).decode
