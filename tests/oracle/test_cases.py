import json
import sys
from pathlib import Path

import pytest

from tests.conformance.__main__ import solver
from tests.controlplane.assets import known_versions
from tests.oracle.build import built_program
from tests.oracle.cases import (
    COMPARED,
    GENERATORS,
    JudgeError,
    find_differences,
    judge_cases,
    make_cases,
)
from tests.required import ENVTEST, skip_or_fail
from webhook.policy.kinds import BUILT_IN_TEMPLATES

SUITES = tuple(GENERATORS)
NUMBER = 60


@pytest.mark.parametrize("suite", SUITES)
def test_a_seed_always_makes_the_same_cases(suite: str) -> None:
    first = make_cases(suite, 7, NUMBER, "1.36")

    assert make_cases(suite, 7, NUMBER, "1.36") == first
    assert make_cases(suite, 7, 3, "1.36") == first[:3]
    assert make_cases(suite, 8, NUMBER, "1.36") != first


@pytest.mark.parametrize("suite", COMPARED)
def test_cases_are_in_the_format_of_the_conformance_data(suite: str) -> None:
    answer = solver(suite)

    for case in make_cases(suite, 7, NUMBER, "1.37"):
        assert json.loads(json.dumps(case)) == case
        assert case["id"].startswith(f"{suite[0]}-")
        assert answer(case)


def test_objects_of_every_built_in_kind_are_validated() -> None:
    cases = make_cases("validation", 7, 200, "1.37")

    assert {case["object"]["kind"] for case in cases} == {kind.kind for kind in BUILT_IN_TEMPLATES}
    assert {case["kubernetes"] for case in cases} == {"1.37"}
    codes = {solver("validation")(case)["code"] for case in cases}
    assert codes == {200, 201, 422}


def test_updates_change_constraints_and_other_fields() -> None:
    cases = make_cases("validation", 7, 200, "1.37")
    updates = [case for case in cases if case.get("operation") == "UPDATE"]

    assert {case["old"]["kind"] for case in updates} == {kind.kind for kind in BUILT_IN_TEMPLATES}
    assert len({case["old"] == case["object"] for case in updates}) == 2
    assert {solver("validation")(case)["code"] for case in updates} == {200, 422}


def test_a_different_answer_is_found_with_its_case() -> None:
    cases = make_cases("selector", 7, 3, "1.36")
    answers = [solver("selector")(case) for case in cases]
    answers[1] = {"selector": "app=wrong", "empty": False}

    (difference,) = find_differences("selector", cases, answers)

    assert difference.case == {**cases[1], "expect": answers[1]}
    assert difference.answered == solver("selector")(cases[1])


JUDGES = {
    "it fails": ("import sys; sys.exit('out of memory')", "selector: out of memory"),
    "it gives too few answers": ("print('{}')", "selector: it gave too few answers"),
}


@pytest.mark.parametrize(("code", "message"), JUDGES.values(), ids=JUDGES.keys())
def test_a_judge_that_fails_is_an_error(code: str, message: str, tmp_path: Path) -> None:
    judge = tmp_path / "judge"
    judge.write_text(f"#!{sys.executable}\n{code}\n")
    judge.chmod(0o755)

    with pytest.raises(JudgeError, match=message):
        judge_cases(judge, "selector", make_cases("selector", 7, 2, "1.36"))


@pytest.mark.integration
@pytest.mark.parametrize("version", known_versions())
@pytest.mark.parametrize("suite", COMPARED)
def test_kubernetes_gives_the_answers_of_evenspread(suite: str, version: str) -> None:
    program = built_program(known_versions()[version])
    if not program.is_file():
        skip_or_fail("no judge to compare with: run `make oracle`", ENVTEST)
    cases = make_cases(suite, 11, NUMBER, version)

    assert list(find_differences(suite, cases, judge_cases(program, suite, cases))) == []
