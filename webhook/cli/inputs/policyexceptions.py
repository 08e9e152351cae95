"""
SpreadPolicyExceptions of a live cluster, for commands that read it without an audit.

``read_exceptions`` is the entry point. A user who may not list them still gets an answer, in which
they do not count.
"""

from collections.abc import Collection

from webhook.cli.clock import current_time
from webhook.cli.output import write_stderr
from webhook.cluster.facts import Cluster
from webhook.cluster.lists import fill_exceptions
from webhook.cluster.protocol import ApiClient, FailureReason
from webhook.errors import ApiError


async def read_exceptions(api: ApiClient, cluster: Cluster, namespaces: Collection[str]) -> None:
    """
    Put the exceptions of some namespaces into a cluster, where they expire by the present time.

    Raises:
        ApiError: They cannot be listed, for another reason than a missing right.
    """
    cluster.exception_store.clock = current_time
    try:
        await fill_exceptions(api, cluster, namespaces)
    except ApiError as error:
        if error.reason is not FailureReason.FORBIDDEN:
            raise
        report_uncounted(error)


def report_uncounted(error: ApiError) -> None:
    """Write to stderr that exceptions do not count, since the user may not list them."""
    write_stderr(f"SpreadPolicyExceptions of the cluster do not count: {error}")
