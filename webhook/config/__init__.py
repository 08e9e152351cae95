"""
Configuration files of the webhook: read, validate and summarize them.

``load`` reads files into a ``Configuration``. ``gates_in_force`` and ``policy`` derive from it the
feature gates and the policy for requests. Flags and environment variables are in ``settings``.
"""

from webhook.config.configuration import Configuration, check, policy
from webhook.config.files import load
from webhook.config.gates import gates_in_force
from webhook.config.models import OwnerSelector

__all__ = ["Configuration", "OwnerSelector", "check", "gates_in_force", "load", "policy"]
