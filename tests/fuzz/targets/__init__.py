"""
The fuzzed readers: a module each, with a function ``check`` and the ``TOKENS`` of its input.

``check`` takes the bytes of one input, reads them with the product, and compares the result with an
independent reading. It raises ``FindingError`` where they differ. Any other exception is a finding,
too, because ``check`` handles the errors that the reader declares.
"""

from importlib import import_module
from typing import NamedTuple, Protocol

NAMES = (
    "review",
    "selectors",
    "configuration",
    "manifests",
    "kubeconfig",
    "certificates",
    "watch",
)
"""In the order in which they run."""


class Check(Protocol):
    """Reads one input; raises if the product reads it in a way it should not."""

    def __call__(self, data: bytes, /) -> None: ...


class Target(NamedTuple):
    """
    A fuzzed reader.

    Attributes:
        tokens: Words of its input, of which a fuzzer builds new inputs.
    """

    name: str
    check: Check
    tokens: tuple[bytes, ...]


class FindingError(AssertionError):
    """The product read an input in a way it should not."""


def load(name: str) -> Target:
    """Import a target; the product is imported with it."""
    module = import_module(f"{__name__}.{name}")
    return Target(name, module.check, module.TOKENS)


def expect(holds: object, problem: str) -> None:
    """Raise ``FindingError`` unless a condition holds."""
    if not holds:
        raise FindingError(problem)
