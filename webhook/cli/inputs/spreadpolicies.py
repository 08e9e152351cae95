"""
SpreadPolicies for a command: those of manifests, and those of a live cluster.

``add_spread_policies`` puts them behind the profiles of the configuration, as the server does.
"""

from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import RequestedPolicy
from webhook.cli.output import write_stderr
from webhook.cluster.discovery import locate_custom
from webhook.cluster.lists import list_objects
from webhook.cluster.protocol import ApiClient, FailureReason
from webhook.cluster.spreadpolicies import SpreadPolicyStore, decode_policy
from webhook.config.spreadpolicies import POLICY_VERSION, SPREAD_POLICY, SpreadPolicy, add_policies
from webhook.errors import ApiError
from webhook.policy.nesting import decode_nested


def add_spread_policies(
    requested: RequestedPolicy, inputs: Inputs, live: ServerOptions | None
) -> RequestedPolicy:
    """
    Add the SpreadPolicies of manifests and of a live cluster.

    Args:
        inputs: All manifests, which have been read; they replace policies of the live cluster with
            the same names.

    Raises:
        ConfigError: A policy of a manifest is invalid.
        ApiError: The policies of the live cluster cannot be listed.
    """
    found = find_spread_policies(inputs, live)
    return requested._replace(configuration=add_policies(requested.configuration, found))


def find_spread_policies(inputs: Inputs, live: ServerOptions | None) -> dict[str, SpreadPolicy]:
    """Find the same SpreadPolicies, by name; arguments and errors as above."""
    found = {} if live is None else _read_live(live)
    if not inputs.policies:
        return found
    # Imported for an object only: it loads pydantic.
    from webhook.config.policyobjects import read_spread_policies  # noqa: PLC0415

    return found | read_spread_policies(inputs.policies)


def _read_live(live: ServerOptions) -> dict[str, SpreadPolicy]:
    """Read the policies of a live cluster; leave out those that its servers do not use either."""
    store = SpreadPolicyStore(lambda: None)

    async def read(api: ApiClient) -> None:
        place = await locate_custom(api, SPREAD_POLICY, POLICY_VERSION)
        if place is not None:
            async for data in list_objects(api, place):
                store.put(decode_nested(decode_policy, data))

    try:
        apiserver.call(live, read)
    except ApiError as error:
        if error.reason is not FailureReason.FORBIDDEN:
            raise
        write_stderr(f"SpreadPolicies of the cluster do not count: {error}")
    for name, problem in store.problems.items():
        write_stderr(f"SpreadPolicy {name!r} is not used: {problem.splitlines()[0]}")
    return {policy.name: policy for policy in store.policies}
