"""A struct with an abstract method cannot be built; one that implements it can."""

from abc import abstractmethod

import msgspec
import pytest

from webhook.explain.abstractstructs import AbstractStructMeta


class Shape(msgspec.Struct, frozen=True, metaclass=AbstractStructMeta):
    side: int

    @abstractmethod
    def measure(self) -> int:
        """Measure the area."""


class Square(Shape, frozen=True):
    def measure(self) -> int:
        return self.side**2


def test_an_abstract_struct_cannot_be_built() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Shape(3)  # type: ignore[abstract]  # pyright: ignore[reportAbstractUsage]


def test_a_struct_that_implements_the_method_is_one_with_fields() -> None:
    assert Square(3).measure() == 9
    assert msgspec.json.encode(Square(3)) == b'{"side":3}'
