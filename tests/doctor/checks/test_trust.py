"""Each check of certificates reports what deviates, and what to do."""

from typing import Any

import pytest

from tests.certs.world import authority, leaf
from tests.doctor.installations import (
    CA,
    after,
    assert_reported,
    build_installation,
    deployment,
    find_deviations,
    hooks,
    secret,
    serving_with,
)
from webhook.doctor.installation import Lookup
from webhook.policy.request import Hook

STRANGER = authority()
PAIR = leaf(CA, "evenspread.evenspread.svc")


CASES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "an empty caBundle": (
        {"configurations": hooks({"clientConfig": {"caBundle": ""}}, Hook.VALIDATE)},
        {"ca-bundle": "the caBundle of validate.evenspread.io is empty"},
    ),
    "a caBundle that is no PEM": (
        {"configurations": hooks({"clientConfig": {"caBundle": "!"}}, Hook.MUTATE)},
        {"ca-bundle": "a replica writes it within seconds"},
    ),
    "a caBundle of another authority": (
        {"authority": secret("ca.crt", STRANGER)},
        {"ca-bundle": "in Secret evenspread/evenspread-ca"},
    ),
    "a served leaf of another authority": (
        {"served": leaf(STRANGER).leaf},
        {"ca-bundle": "does not verify the served certificate"},
    ),
    "an empty caBundle in mode files": (
        {
            "configurations": hooks({"clientConfig": {"caBundle": None}}),
            "deployment": deployment(serving_with("--tls=files")),
        },
        {"ca-bundle": "cert-manager.io/inject-ca-from"},
    ),
    "no Secret": ({"authority": Lookup()}, {"certificates": "does not exist"}),
    "an authority that has expired": (
        {"now": after(366)},
        {"certificates": "evenspread certs rotate --ca -n evenspread --name evenspread"},
    ),
    "an authority that should have been renewed": (
        {"now": after(275)},
        {"certificates": "its renewal is overdue"},
    ),
    "a clock that is behind": ({"now": after(-1)}, {"certificates": "compare the clocks"}),
    "a mounted certificate that has expired": (
        {"serving": secret("tls.crt", PAIR), "now": after(8)},
        {"certificates": "have its issuer renew it"},
    ),
    "a served certificate that is overdue": (
        {"served": PAIR.leaf, "now": after(5.5)},
        {"certificates": "the served certificate expires at"},
    ),
}

NOTES = set[str]()


@pytest.mark.parametrize("case", CASES)
def test_one_check_reports_the_deviation_and_the_fix(case: str) -> None:
    changes, expected = CASES[case]

    assert_reported(changes, expected, is_note=case in NOTES)


def test_a_missing_webhook_is_left_to_the_check_of_it() -> None:
    found = find_deviations(build_installation(configurations={hook: Lookup() for hook in Hook}))

    assert "ca-bundle" not in found
