import pytest

from webhook.policy.advice.typos import nearest
from webhook.policy.defaulting.profiles import HOSTNAME, ZONE

CLOUD = [HOSTNAME, "topology.ebs.csi.aws.com/zone", ZONE, "example.io/rack"]
NEAREST: dict[str, tuple[str, list[str], str]] = {
    "the name alone": ("zone", CLOUD, ZONE),
    "a letter too much": ("topology.kubernetes.io/zones", CLOUD, ZONE),
    "a typing error in the prefix": ("topolgy.kubernetes.io/zone", CLOUD, ZONE),
    "the key of another": ("topology.ebs.csi.aws.com/zones", CLOUD, CLOUD[1]),
    "a name of somebody's own": ("rak", CLOUD, "example.io/rack"),
    "nothing like it": ("shelf", CLOUD, ""),
    "nothing like it, with a prefix": ("example.io/shelf", CLOUD, ""),
    "no keys": ("zone", [], ""),
    "a key that is too long for one": ("zone" * 100, CLOUD, ""),
}  # fmt: skip


@pytest.mark.parametrize(("key", "keys", "meant"), NEAREST.values(), ids=NEAREST.keys())
def test_nearest(key: str, keys: list[str], meant: str) -> None:
    assert nearest(key, keys) == meant
