"""Combine options of a command into one argument of its function, with ``combine_options``."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")


def combine_options(
    parameter: str, take: Callable[[dict[str, Any]], object]
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """
    Create a decorator that gives a function one argument in place of several options.

    Args:
        parameter: The name of the argument.
        take: Builds its value, and removes the values of the options from those of the command.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        @wraps(function)
        def command(**values: Any) -> T:
            combined = {parameter: take(values)}
            return function(**combined, **values)

        return command

    return decorate
