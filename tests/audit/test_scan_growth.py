"""The work of an audit grows with the number of namespaces, not with its square."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.audit import world
from tests.policy.api.test_rules import calls
from webhook.audit.snapshot import Snapshot

SHOP = world.DEPLOYMENT + world.REPLICA_SET + world.RUNNING


def fill(namespaces: int) -> Snapshot:
    """Fill namespaces with the same workload and four pods; the nodes stay the same."""
    texts = (
        SHOP.replace("namespace: shop", f"namespace: {name}").replace(
            '"namespace":"shop"', f'"namespace":"{name}"'
        )
        for name in (f"shop-{i}" for i in range(namespaces))
    )
    return world.gather(world.NODES + "".join(texts)).snapshot


def fill_one(workloads: int) -> Snapshot:
    """Fill one namespace with workloads that have selectors of their own."""
    texts = (
        SHOP.replace("app: web", f"app: w{i}")
        .replace('"app":"web"', f'"app":"w{i}"')
        .replace("name: web", f"name: w{i}")
        .replace('"name":"web', f'"name":"w{i}')
        for i in range(workloads)
    )
    return world.gather(world.NODES + "".join(texts)).snapshot


@pytest.mark.parametrize("build", [fill, fill_one])
def test_an_audit_takes_linear_time(build: Callable[[int], Snapshot]) -> None:
    small, medium, large = (build(number) for number in (20, 40, 60))
    audited = world.report_on(large).summary
    assert (audited.workloads, audited.pods) == (60, 240)

    one, two, three = (
        calls(partial(world.report_on, snapshot)) for snapshot in (small, medium, large)
    )

    assert three - two <= 1.1 * (two - one)
