"""What of the registration of the webhook for Bindings is wrong."""

import msgspec
import pytest

from tests.deploy.manifests import Json
from tests.doctor.installations import BINDING, merge
from webhook.doctor.binding import list_binding_faults
from webhook.doctor.objects import Webhook

FAULTS: dict[str, tuple[Json, str]] = {
    "another Service": (
        {"clientConfig": {"service": {"name": "web"}}},
        "calls evenspread/web/bind, not evenspread/evenspread/bind",
    ),
    "a URL": (
        {"clientConfig": {"service": None}},
        "calls a URL, not evenspread/evenspread/bind",
    ),
    "pods": (
        {"rules": [{**BINDING["rules"][0], "resources": ["pods"]}]},
        "is called for something",
    ),
    "everything": ({"rules": [*BINDING["rules"], *BINDING["rules"]]}, "is called for something"),
    "a policy that stops bindings": ({"failurePolicy": "Fail"}, "no pod can be bound"),
    "side effects": ({"sideEffects": "Some"}, "has sideEffects: Some, not None"),
}


def faults(change: Json) -> list[str]:
    webhook = msgspec.convert(merge(BINDING, change), Webhook)
    return list(list_binding_faults(webhook, name="evenspread", namespace="evenspread"))


def test_what_is_shipped_has_no_fault() -> None:
    assert faults({}) == []


@pytest.mark.parametrize(("change", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_described(change: Json, words: str) -> None:
    (fault,) = faults(change)

    assert words in fault
