"""Facts for commands that need no cluster: manifests, or the very objects that are asked about."""

from collections.abc import Iterable

from webhook.cli.inputs.manifests import Inputs
from webhook.cluster.lookup import Cluster
from webhook.cluster.manifests import fill, load_cluster
from webhook.config import OwnerSelector
from webhook.manifests import Document


def facts_from(
    path: str, documents: Iterable[Document], owners: tuple[OwnerSelector, ...], inputs: Inputs
) -> Cluster:
    """
    Read the facts.

    Args:
        path: Of manifests; if empty, the documents themselves are the cluster.
        documents: Objects of ``-f``.
        owners: Custom kinds whose selectors are asked for.
        inputs: Gets to know what could not be read.
    """
    if not path:
        cluster = Cluster(owners)
        inputs.problems += fill(cluster, documents)
        return cluster
    loaded = load_cluster([path], owners=owners)
    inputs.problems += loaded.problems
    inputs.skipped += loaded.skipped
    return loaded.cluster
