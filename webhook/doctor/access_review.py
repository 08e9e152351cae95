"""
Rights of a ServiceAccount, requested from the API server by SubjectAccessReviews.

``review_rights`` reviews every right that ``rights`` lists; the API server stores no review.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from webhook.cluster.discovery import ResourcePath, find_custom_kinds
from webhook.config.configuration import Configuration
from webhook.doctor import rights
from webhook.doctor.client import DoctorClient, describe_right
from webhook.doctor.configmap import read_if_valid
from webhook.doctor.installation import Lookup
from webhook.doctor.objects import ConfigMap
from webhook.doctor.workload import Deployment
from webhook.policy.defaulting.profiles import Profile, keeps_spread
from webhook.policy.kinds import CUSTOM_KINDS

_REVIEWS = ResourcePath("/apis/authorization.k8s.io/v1", "subjectaccessreviews")


class ReviewedServer(NamedTuple):
    """
    A server whose rights are reviewed.

    Attributes:
        deployment: Has its settings; None if it is not known.
        config_map: The configuration, which may name further controllers.
        policies: The profiles of SpreadPolicies.
    """

    deployment: Deployment | None
    config_map: ConfigMap | None
    policies: Sequence[Profile] = ()


async def review_rights(
    client: DoctorClient,
    name: str,
    namespace: str,
    server: ReviewedServer,
) -> dict[rights.Right, Lookup[bool]]:
    """
    Review each right that the server needs.

    Args:
        name: Name of the installation; also that of the ServiceAccount without a Deployment.
        namespace: Namespace of the ServiceAccount.
        server: Decides what the server needs.
    """
    deployment = server.deployment
    settings = (deployment or Deployment()).settings
    account = deployment.spec.template.spec.service_account_name if deployment else name
    installed = read_if_valid(server.config_map, {})
    configured = installed.configuration if installed else Configuration()
    controllers = {owner.kind for owner in configured.owner_selectors} - CUSTOM_KINDS.keys()
    owners = await find_custom_kinds(client.api, controllers, [])
    templates = configured.pod_templates.keys() - CUSTOM_KINDS.keys()
    custom = await find_custom_kinds(client.api, templates, [])
    used = () if settings.get("policies") == "file" else server.policies
    needed = (
        *rights.list_needed_rights(
            name, rights.certificate_mode(settings), (rights.ROLLOUTS, *owners)
        ),
        *rights.list_policy_rights(name, settings),
        *rights.list_audit_rights(name, settings, custom),
        *rights.list_scale_down_rights(
            name,
            keeps_spread=keeps_spread((*configured.profiles, *used)),
            repairs=configured.scale_down_repair,
        ),
    )
    found: dict[rights.Right, Lookup[bool]] = {}
    for right in dict.fromkeys(needed):
        review = rights.build_review(right, namespace, account)
        response = await client.send("POST", _REVIEWS.collection, review)
        if response.status == HTTPStatus.CREATED:
            found[right] = Lookup(msgspec.json.decode(response.body, type=_Review).status.allowed)
        else:
            found[right] = Lookup(problem=f"needs {describe_right('create', _REVIEWS)}")
    return found


class _ReviewStatus(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _ReviewStatus
