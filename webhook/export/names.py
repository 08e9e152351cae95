"""Names of exported objects, which are DNS subdomains and occur once."""

import re
from collections.abc import Iterable

NAME_PREFIX = "evenspread-"

_others = re.compile(r"[^a-z0-9]+")


def name_objects(names: Iterable[str]) -> list[str]:
    """
    Name the objects of profiles or kinds, in the same order.

    A profile's name may contain capitals, dots and underscores, which a name of an object must not,
    or in other places. Names that become equal get a number.
    """
    taken: list[str] = []
    for name in names:
        plain = NAME_PREFIX + _others.sub("-", name.lower()).strip("-")
        number, chosen = 2, plain
        while chosen in taken:
            chosen, number = f"{plain}-{number}", number + 1
        taken.append(chosen)
    return taken
