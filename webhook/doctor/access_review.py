"""
Rights of a ServiceAccount, requested from the API server by SubjectAccessReviews.

``review_rights`` reviews every right that ``rights`` lists; the API server stores no review.
"""

from http import HTTPStatus

import msgspec

from webhook.cluster.discovery import ResourcePath, find_custom_kinds
from webhook.config.configuration import Configuration
from webhook.doctor import rights
from webhook.doctor.client import DoctorClient, describe_right
from webhook.doctor.configmap import read_if_valid
from webhook.doctor.installation import Lookup
from webhook.doctor.objects import ConfigMap
from webhook.doctor.workload import Deployment
from webhook.policy.defaulting.profiles import keeps_spread
from webhook.policy.kinds import CUSTOM_KINDS

_REVIEWS = ResourcePath("/apis/authorization.k8s.io/v1", "subjectaccessreviews")


async def review_rights(
    client: DoctorClient,
    name: str,
    namespace: str,
    deployment: Deployment | None,
    config_map: ConfigMap | None,
) -> dict[rights.Right, Lookup[bool]]:
    """
    Review each right that the server needs.

    Args:
        name: Name of the installation; also that of the ServiceAccount without a Deployment.
        namespace: Namespace of the ServiceAccount.
        deployment: Its settings decide what the server needs.
        config_map: The configuration, which may name further controllers.
    """
    settings = (deployment or Deployment()).settings
    account = deployment.spec.template.spec.service_account_name if deployment else name
    installed = read_if_valid(config_map, {})
    configured = installed.configuration if installed else Configuration()
    controllers = {owner.kind for owner in configured.owner_selectors} - CUSTOM_KINDS.keys()
    owners = await find_custom_kinds(client.api, controllers, [])
    templates = configured.pod_templates.keys() - CUSTOM_KINDS.keys()
    custom = await find_custom_kinds(client.api, templates, [])
    needed = (
        *rights.list_needed_rights(
            name, rights.certificate_mode(settings), (rights.ROLLOUTS, *owners)
        ),
        *rights.list_policy_rights(name, settings),
        *rights.list_audit_rights(name, settings, custom),
        *rights.list_scale_down_rights(
            name,
            keeps_spread=keeps_spread(configured.profiles),
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
