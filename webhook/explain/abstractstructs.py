"""Structs with abstract methods: ``AbstractStructMeta``, the metaclass of such structs."""

from abc import ABCMeta

import msgspec


class AbstractStructMeta(msgspec.StructMeta, ABCMeta):
    """Metaclass of structs with abstract methods, so that only complete ones can be built."""
