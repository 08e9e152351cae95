"""Workloads in YAML, and what strict decoding finds in them."""

from typing import Any

import yaml

from webhook.policy.api.schema import (
    find_unknown_fields,
)

TEMPLATE = ("spec", "template")
JOB_TEMPLATE = ("spec", "jobTemplate", "spec", "template")
LIST = "spec.template.spec.topologySpreadConstraints"
LISTED = "topologySpreadConstraints: [],"


def found_in(text: str, template: tuple[str, ...] = TEMPLATE, *, custom: bool = False) -> Any:
    return [
        (finding.message, finding.hint)
        for finding in find_unknown_fields(
            yaml.safe_load(text), [template], custom=[template] if custom else []
        )
    ]


def in_constraint(members: str) -> str:
    return f"spec: {{template: {{spec: {{topologySpreadConstraints: [{members}]}}}}}}"
