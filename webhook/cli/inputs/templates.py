"""Pod templates in documents, wherever a kind holds its own."""

from functools import cache
from typing import Any

import msgspec

from webhook.policy.model import PodTemplate
from webhook.policy.paths import TemplatePath


def template_in(value: Any, path: TemplatePath) -> PodTemplate | None:
    """
    Decode the pod template in an object.

    Raises:
        msgspec.ValidationError: A value in it, or on the way to it, has a wrong type.
    """
    held: Any = msgspec.convert(value, _holder(path))
    for _ in path:
        held = held.inner if held is not None else None
    template: PodTemplate | None = held
    return template


@cache
def _holder(path: TemplatePath) -> Any:
    """Make the type of an object of which only the pod template is read."""
    holder: Any = PodTemplate | None
    for member in reversed(path):
        fields = [("inner", holder, None)]
        holder = msgspec.defstruct("Holder", fields, rename={"inner": member}) | None
    return holder
