"""
Search one target with atheris: ``python -m tests.fuzz.engine TARGET [libFuzzer's options] FOLDER``.

atheris counts the branches that an input takes in the product, and keeps inputs that take new ones.
It ends the process: with 0, or with another code and a traceback after a finding.
"""

import random
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.fuzz.bounds import run_bounded
from tests.fuzz.mutate import mutate
from tests.fuzz.targets import load

NOT_INSTALLED = 3


def main(arguments: list[str]) -> int:
    """Search until the time is over; returns only if there is no atheris."""
    try:
        fuzzer: Any = import_module("atheris")  # untyped, and only for Linux on x86-64
    except ImportError:
        print("fuzz: atheris is not installed; it has wheels for Linux on x86-64", file=sys.stderr)
        return NOT_INSTALLED
    name, *options = arguments
    with fuzzer.instrument_imports(include=["webhook", "certs"]):
        target = load(name)

    def check(data: bytes) -> None:
        run_bounded(target.check, data)

    fuzzer.Setup([name, *options], check, custom_mutator=_mutator(fuzzer))
    fuzzer.Fuzz()
    return 0


def _mutator(fuzzer: Any) -> Callable[[bytes, int, int], bytes]:
    def change(data: bytes, most: int, seed: int) -> bytes:
        by_structure = random.Random(seed).random() < 1 / 2
        changed = mutate(data, most, seed) if by_structure else None
        found: bytes = changed or fuzzer.Mutate(data, most)
        return found

    return change


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
