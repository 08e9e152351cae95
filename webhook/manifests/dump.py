"""Values as YAML, as people write it."""

from typing import Any

import yaml

_COLUMNS = 120  # before a text is folded; a little more than the widest of our lines


def as_yaml(value: Any) -> str:
    """Write a value as people write YAML: members in their order, nothing abbreviated."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_COLUMNS
    )
    return text


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """Write in full what occurs twice."""
        del data
        return True
