"""Limits that the pages state in words are those of the code."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT
from webhook.cluster.client.plugins import LOGIN_S, PLUGIN_S
from webhook.cluster.latepods import LATE_S, MOST_WAITS, NAMESPACE_WAITS
from webhook.cluster.protocol import MAX_BODY_BYTES
from webhook.cluster.quota import MAX_SELECTOR_BYTES, MAX_SELECTOR_TEXT
from webhook.cluster.rankledger import RESERVED_S
from webhook.policy.scaledown.ranks import COST_STEP, FIRST_COST
from webhook.server.http.body import Bodies
from webhook.server.http.limits import KIB, MIB, Limits
from webhook.server.repair import REFUSED_S, SETTLED_S, TURN_S

NUMBERS = {5: "five", 10: "ten"}

LIMITS = Limits()
OPERATE, SCALE_DOWN = ROOT / "docs/operate.md", ROOT / "docs/scale-down.md"
REFERENCE, SECURITY = ROOT / "docs/reference.md", ROOT / "SECURITY.md"


def in_words(number: float) -> str:
    """Write a number as the pages do."""
    return NUMBERS.get(int(number), f"{number:,.0f}")


def stated() -> Iterator[tuple[Path, str]]:
    """List what each page states."""
    kept = (LIMITS.in_flight + MOST_WAITS) * LIMITS.long_review
    yield OPERATE, f"| {LIMITS.in_flight} reviews at a time |"
    yield OPERATE, f"| {LIMITS.connections} connections |"
    yield OPERATE, f"| {LIMITS.body // MIB} MiB for one body |"
    yield OPERATE, f"| {LIMITS.bodies // MIB} MiB for all bodies together, "
    yield (
        OPERATE,
        f"{kept // MIB} MiB are kept for bodies of up to {LIMITS.long_review // KIB} KiB |",
    )
    yield OPERATE, f"| {LIMITS.body_read:.0f} seconds to send a body, "
    yield OPERATE, f"| {LIMITS.handshake:.0f} seconds for a TLS handshake |"
    yield OPERATE, f"| {LIMITS.request_share:.0%}".replace("%", " %") + " of the caller's timeout"
    yield OPERATE, f"timeout, or {LIMITS.request:.0f} seconds if that is less |"
    yield OPERATE, f"| {PLUGIN_S:.0f} seconds for an exec plugin of a kubeconfig, {LOGIN_S:.0f} at"
    yield OPERATE, f"| {MAX_BODY_BYTES // MIB} MiB for one answer of the API server |"
    yield OPERATE, f"| {MAX_SELECTOR_BYTES // KIB} KiB for one selector in the caches, or "
    yield OPERATE, f"caches, or {MAX_SELECTOR_TEXT // KIB} KiB of JSON |"
    yield SCALE_DOWN, f"{in_words(FIRST_COST)} - {in_words(COST_STEP)} x rank"
    yield SCALE_DOWN, f"shows the pod with it, or for {RESERVED_S:.0f} seconds"
    yield SCALE_DOWN, f"| at most {LATE_S} s |"
    yield SCALE_DOWN, f"{in_words(SETTLED_S)} seconds after the last change of a workload"
    yield SCALE_DOWN, f"at most {in_words(1 / TURN_S)} patches a second"
    yield SCALE_DOWN, {60: "again a minute later"}[int(REFUSED_S)]
    yield REFERENCE, f"did not have it {LATE_S} s later. If {MOST_WAITS} Bindings wait"
    yield REFERENCE, f"for their pods, {NAMESPACE_WAITS} of them of one namespace"
    yield SECURITY, f"without a node, one for each pod, for {RESERVED_S:.0f} seconds"
    yield SECURITY, f"invented pods wait for {LATE_S} seconds, {MOST_WAITS} of them at a time"


STATED = list(stated())


@pytest.mark.parametrize(("page", "words"), STATED, ids=[words for _, words in STATED])
def test_a_page_states_a_limit(page: Path, words: str) -> None:
    assert words in " ".join(page.read_text().split())


def test_short_bodies_have_the_room_that_the_page_names() -> None:
    kept = (LIMITS.in_flight + MOST_WAITS) * LIMITS.long_review

    assert Bodies(LIMITS)._most == LIMITS.bodies - kept
