"""Short names of well-known topology keys, as people say and write them."""

from webhook.policy.defaulting.profiles import HOSTNAME, ZONE

REGION = "topology.kubernetes.io/region"  # Source: k8s.io/api core/v1 well_known_labels.go

SHORT = {"zone": ZONE, "region": REGION, "hostname": HOSTNAME}
"""Short name -> label; any other key is written in full."""

_NAMES = {key: name for name, key in SHORT.items()}


def full_key(name: str) -> str:
    """The label that a short name stands for; any other text is a label already."""
    return SHORT.get(name, name)


def short_key(key: str) -> str:
    """The short name of a label, if it has one."""
    return _NAMES.get(key, key)


def listed(names: tuple[str, ...], most: int = 3) -> str:
    """The first names, and how many there are besides."""
    more = len(names) - most
    return f"{', '.join(names[:most])} and {more} more" if more > 0 else ", ".join(names)


def counted(number: int, thing: str) -> str:
    """A number of things: ``1 node``, ``2 nodes``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
