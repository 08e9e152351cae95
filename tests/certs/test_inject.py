import base64
import copy
from functools import partial
from typing import Any

import jsonpatch
import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from certs.errors import ConflictError, StoreError
from certs.inject import (
    Certificates,
    MergeBundle,
    merge_bundle,
)
from certs.pem import CertificatePair, fingerprint
from tests.certs.cluster import MUTATING, VALIDATING, Cluster
from tests.certs.world import DAY, NOW, authority, leaf
from webhook.cluster.protocol import Response

OURS, NEXT, OLD = (authority() for _ in range(3))
STRANGER, EXPIRED = authority(), authority(lifetime=-DAY / 48)
CA = {"ours": OURS, "next": NEXT, "old": OLD, "stranger": STRANGER, "expired": EXPIRED}
NAMES = {pair.leaf: name for name, pair in CA.items()}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(clock=lambda: NOW)


def certificates(names: str) -> Certificates:
    return tuple(CA[name].leaf for name in names.split())


def merging(trusted: str, leaving: str = "") -> MergeBundle:
    return partial(
        merge_bundle,
        trusted=certificates(trusted),
        leaving=certificates(leaving),
        expired_at=NOW,
    )


MERGES = {
    "into nothing": ("", "ours", "", "ours"),
    "what is there already": ("ours", "ours", "", "ours"),
    "the next one beside ours": ("ours", "ours next", "", "ours next"),
    "a stranger stays": ("stranger", "ours", "", "stranger ours"),
    "an expired stranger goes": ("expired", "ours", "", "ours"),
    "what leaves goes": ("old ours", "ours", "old", "ours"),
    "nothing twice": ("ours ours stranger stranger", "ours", "", "ours stranger"),
    "the order of others is kept": ("next ours", "ours next", "", "next ours"),
    "what leaves was not there": ("ours", "ours", "old", "ours"),
}


@pytest.mark.parametrize(("there", "trusted", "leaving", "merged"), MERGES.values(), ids=MERGES)
def test_bundles_are_merged(there: str, trusted: str, leaving: str, merged: str) -> None:
    result = merging(trusted, leaving)(certificates(there))

    assert " ".join(NAMES[one] for one in result) == merged


def without_expired(chosen: list[x509.Certificate]) -> list[x509.Certificate]:
    return [one for one in chosen if one != EXPIRED.leaf]


some = st.lists(st.sampled_from([pair.leaf for pair in CA.values()]))


@given(there=some, trusted=some.map(without_expired), leaving=some)
def test_merging_twice_is_merging_once(
    there: list[x509.Certificate],
    trusted: list[x509.Certificate],
    leaving: list[x509.Certificate],
) -> None:
    leaving = [one for one in leaving if one not in trusted]
    merge = partial(merge_bundle, trusted=trusted, leaving=leaving, expired_at=NOW)
    once = merge(tuple(there))

    assert merge(once) == once
    assert set(trusted) <= set(once)
    assert not set(leaving) & set(once)


async def write(cluster: Cluster, trusted: str, leaving: str = "") -> None:
    await cluster.hooks.write(await cluster.hooks.read(), merging(trusted, leaving))


async def test_both_configurations_are_written(cluster: Cluster) -> None:
    await write(cluster, "ours next")

    assert cluster.bundle(MUTATING) == cluster.bundle(VALIDATING) == (OURS.leaf, NEXT.leaf)


async def test_a_correct_bundle_is_not_written(cluster: Cluster) -> None:
    await write(cluster, "ours")
    version = cluster.revision

    await write(cluster, "ours")

    assert cluster.revision == version


async def test_every_webhook_of_a_configuration_is_written(cluster: Cluster) -> None:
    hooks = cluster.objects[MUTATING]["webhooks"]
    hooks.append(copy.deepcopy(hooks[0]))
    cluster.set_bundle(MUTATING, STRANGER.leaf)

    await write(cluster, "ours")

    assert cluster.bundle(MUTATING, 0) == (STRANGER.leaf, OURS.leaf)
    assert cluster.bundle(MUTATING, 1) == (OURS.leaf,)


async def test_nothing_else_of_a_configuration_is_changed(cluster: Cluster) -> None:
    before = copy.deepcopy(cluster.objects[MUTATING])
    await write(cluster, "ours")
    after = cluster.objects[MUTATING]

    changed = {one["path"] for one in jsonpatch.make_patch(before, after)}

    assert changed == {"/webhooks/0/clientConfig/caBundle", "/metadata/resourceVersion"}


async def test_a_configuration_that_changed_since_is_not_written(cluster: Cluster) -> None:
    published = await cluster.hooks.read()
    cluster.set_bundle(MUTATING, STRANGER.leaf)

    with pytest.raises(ConflictError, match="MutatingWebhookConfiguration web"):
        await cluster.hooks.write(published, merging("ours"))

    assert cluster.bundle(MUTATING) == (STRANGER.leaf,)


GARBAGE = {
    "no PEM": base64.b64encode(b"nothing").decode(),
    "no base64": "%%%",
}


@pytest.mark.parametrize("raw", GARBAGE.values(), ids=GARBAGE)
async def test_an_unreadable_bundle_counts_as_empty_and_is_replaced(
    cluster: Cluster, raw: str
) -> None:
    cluster.set_bundle(MUTATING, raw=raw)

    assert (await cluster.hooks.read()).bundles == ((), ())
    await write(cluster, "ours")

    assert cluster.bundle(MUTATING) == (OURS.leaf,)


async def test_a_configuration_that_does_not_exist_is_not_made(cluster: Cluster) -> None:
    del cluster.objects[MUTATING]

    published = await cluster.hooks.read()
    await write(cluster, "ours")

    assert published.absent == ("MutatingWebhookConfiguration web",)
    assert MUTATING not in cluster.objects
    assert cluster.bundle(VALIDATING) == (OURS.leaf,)


async def test_an_unreadable_configuration_is_not_absent(cluster: Cluster) -> None:
    cluster.answers[f"GET {VALIDATING}"] = Response(403)

    with pytest.raises(StoreError, match=r"ValidatingWebhookConfiguration web: .*403"):
        await cluster.hooks.read()


async def test_everywhere_is_less_than_anywhere(cluster: Cluster) -> None:
    cluster.set_bundle(MUTATING, OURS.leaf, STRANGER.leaf)
    cluster.set_bundle(VALIDATING, OURS.leaf, NEXT.leaf)

    published = await cluster.hooks.read()

    names = {fingerprint(one.leaf) for one in (OURS, NEXT, OLD)}
    assert published.everywhere(names) == {fingerprint(OURS.leaf)}
    found = (OURS, NEXT, STRANGER)
    assert published.anywhere() == {fingerprint(one.leaf): one.leaf for one in found}


async def test_without_configurations_no_bundle_lacks_an_authority(cluster: Cluster) -> None:
    cluster.objects.clear()

    published = await cluster.hooks.read()

    assert published.everywhere({"a", "b"}) == {"a", "b"}
    assert await cluster.hooks.trust(leaf(OURS)) is None


CHAIN = leaf(OURS)
TRUSTS = {
    "the issuer everywhere": ("ours", "ours next", CHAIN, True),
    "one bundle without it": ("ours", "next", CHAIN, False),
    "an empty bundle": ("ours", "", CHAIN, False),
    "what signed the end of the chain": (
        "ours",
        "ours",
        CertificatePair(chain=(*CHAIN.chain, OURS.leaf), key=CHAIN.key),
        True,
    ),
}


@pytest.mark.parametrize(("one", "other", "pair", "trusted"), TRUSTS.values(), ids=TRUSTS)
async def test_bundles_lead_to_a_leaf_or_not(
    cluster: Cluster, one: str, other: str, pair: CertificatePair, *, trusted: bool
) -> None:
    cluster.set_bundle(MUTATING, *certificates(one))
    cluster.set_bundle(VALIDATING, *certificates(other))

    assert await cluster.hooks.trust(pair) is trusted


@pytest.mark.parametrize("webhooks", [5, [1], [None], ["x"], [{}], [{"clientConfig": 1}]])
async def test_webhooks_of_another_structure_are_no_answer(cluster: Cluster, webhooks: Any) -> None:
    cluster.objects[MUTATING]["webhooks"] = webhooks

    with pytest.raises(StoreError, match="is no webhook configuration"):
        await cluster.hooks.read()


@pytest.mark.parametrize("bundle", [5, [1], "é", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t", "AAAA"])
async def test_a_bundle_of_another_type_counts_as_empty(cluster: Cluster, bundle: Any) -> None:
    cluster.objects[MUTATING]["webhooks"][0]["clientConfig"]["caBundle"] = bundle

    assert (await cluster.hooks.read()).bundles[0] == ()
