"""
Small objects that ``evenspread doctor`` reads, and the base class of all its object types.

The types decode only the fields that checks read and ignore all others. ``webhooks`` has the types
of webhook configurations, ``workload`` those of the Deployment and its Service.

Source: k8s.io/api core/v1.
"""

import base64
import binascii
from typing import Any

import msgspec

from webhook.policy.model import ObjectMeta


class DoctorObject(msgspec.Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    """An object or a part of one; a missing field has the default that the API gives it."""


class DoctorNamedObject(DoctorObject, frozen=True):
    """An object of which only the metadata are read, such as a Namespace."""

    metadata: ObjectMeta = ObjectMeta()


class ConfigMap(DoctorObject, frozen=True):
    """A ConfigMap."""

    data: dict[str, str] = {}


class Secret(DoctorObject, frozen=True):
    """A Secret; only its certificates are read."""

    data: dict[str, str] = {}

    def certificates(self, entry: str) -> bytes:
        """Return the PEM text of an entry; empty if it is missing or no base64."""
        return decode_base64(self.data.get(entry, ""))


class PolicyObject(DoctorNamedObject, frozen=True):
    """An object of another policy engine, searched for ``topologySpreadConstraints``."""

    spec: dict[str, Any] = {}


def decode_base64(text: str) -> bytes:
    """Decode a base64 text; empty if it is invalid."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""
