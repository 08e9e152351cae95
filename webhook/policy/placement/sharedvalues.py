"""
Values that copies share until one of them is changed: ``SharedValues``.

A what-if adds few pods to a copy of a large cluster. To copy a mapping of these values costs a
reference for each, and to change a value costs a copy of this value, once for each copy.
"""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SharedValues(Generic[K, V]):
    """
    Values by key.

    Attributes:
        known: The values to read. Only those that ``change`` has returned may be changed, and only
            until the next ``copy``.
    """

    def __init__(self, create: Callable[[], V], copy_value: Callable[[V], V]) -> None:
        """
        Start without a value.

        Args:
            create: Creates the value of a new key.
            copy_value: Copies a value, so that the copy can be changed.
        """
        self._create, self._copy_value = create, copy_value
        self._values: dict[K, V] = {}
        self._own: set[K] = set()  # keys of the values that no copy has
        self.known: Mapping[K, V] = self._values

    def change(self, key: K) -> V:
        """Return a value to change: a new one, or a copy if copies of this mapping have it."""
        if key not in self._own:
            shared = self._values.get(key)
            self._values[key] = self._create() if shared is None else self._copy_value(shared)
            self._own.add(key)
        return self._values[key]

    def copy(self) -> "SharedValues[K, V]":
        """Copy the mapping, to change the copy or this one; O(keys)."""
        twin = SharedValues[K, V](self._create, self._copy_value)
        twin._values.update(self._values)
        self._own.clear()
        return twin
