from webhook.policy.placement.filters.storage import NO_STORAGE, Claim, Storage, VolumeTraits


def test_a_cluster_may_have_no_storage() -> None:
    assert Storage() == NO_STORAGE


def test_a_claim_requires_nothing_by_default() -> None:
    assert Claim(namespace="shop", name="data").traits == VolumeTraits(size=0)
