"""
Selectors of custom controllers: where a controller holds the label selector of its pods.

``models.collect_owners`` adds those of the configuration to ``SHIPPED_OWNERS``. This module must
not import pydantic, so that commands without a configuration start without loading it.
"""

import msgspec

from webhook.policy.kinds import CUSTOM_KINDS
from webhook.policy.model import GroupKind
from webhook.policy.paths import TemplatePath


class OwnerSelector(msgspec.Struct, frozen=True):
    """A kind of controller, and the path to the label selector of its pods."""

    kind: GroupKind
    path: TemplatePath


SHIPPED_OWNERS = tuple(
    OwnerSelector(kind, row.selector) for kind, row in CUSTOM_KINDS.items() if row.selector
)
"""Custom controllers known without configuration."""
