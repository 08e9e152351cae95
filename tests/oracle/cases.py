"""
Random cases of all suites, and the comparison of evenspread with the judge.

``make_cases`` and ``find_differences`` are the entry points. A seed and a number always name the
same case.
"""

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.conformance.__main__ import SUITES, solver
from tests.conformance.case import Answer, Case
from tests.conformance.comparison import differs
from tests.oracle import filters, placement, scaledown, selector, validation
from tests.oracle.chance import Chance

GENERATORS: Mapping[str, Callable[[Chance], Case]] = {
    "validation": validation.make_case,
    "selector": selector.make_case,
    "placement": placement.make_case,
    "scaledown": scaledown.make_case,
    "filters": filters.make_case,
}
"""Suite of the conformance data -> the function that makes one of its cases."""

COMPARED = tuple(suite for suite in GENERATORS if suite in SUITES)
"""The suites that evenspread answers."""

_VERSIONED = ("validation", "filters")  # suites whose cases name the version that judges


class JudgeError(Exception):
    """The judge failed; the message has its last words."""


class Difference(NamedTuple):
    """A case with Kubernetes' answer as ``expect``, and another answer of evenspread."""

    case: Case
    answered: Answer


def make_cases(suite: str, seed: int, number: int, version: str) -> list[Case]:
    """
    Make cases of a suite.

    Args:
        version: The Kubernetes version that judges, as ``1.36``.
    """
    return [_make_case(suite, f"{suite} {seed} {index}", version) for index in range(number)]


def _make_case(suite: str, seed: str, version: str) -> Case:
    case = GENERATORS[suite](Chance(seed))
    if suite in _VERSIONED:
        case["kubernetes"] = version
    digest = sha256(msgspec.json.encode(case, order="sorted")).hexdigest()[:10]
    return {"id": f"{suite[0]}-{digest}", **case}


def judge_cases(program: Path, suite: str, cases: Sequence[Case]) -> list[Answer]:
    """
    Let Kubernetes' own code answer cases.

    Raises:
        JudgeError: It failed, or gave another number of answers.
    """
    lines = b"".join(msgspec.json.encode(case) + b"\n" for case in cases)
    done = subprocess.run([program, suite], input=lines, capture_output=True, check=False)
    answers = [msgspec.json.decode(line, type=Answer) for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(answers) != len(cases):
        problem = done.stderr.decode(errors="replace").strip().splitlines()
        raise JudgeError(f"{suite}: {' '.join(problem[:3]) or 'it gave too few answers'}")
    return answers


def find_differences(
    suite: str, cases: Sequence[Case], answers: Sequence[Answer]
) -> Iterator[Difference]:
    """Compare evenspread's answers with those of Kubernetes."""
    answer = solver(suite)
    for case, expected in zip(cases, answers, strict=True):
        complete = {**case, "expect": expected}
        given = answer(complete)
        if differs(complete, given):
            yield Difference(complete, given)
