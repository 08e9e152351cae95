import pytest

from tests.controlplane.assets import known_versions
from tests.oracle.__main__ import main
from tests.oracle.build import SOURCES, built_program
from tests.required import ENVTEST, skip_or_fail


def test_the_judge_exists_for_two_versions() -> None:
    versions = known_versions()

    assert list(versions) == ["1.36", "1.37"]
    programs = {built_program(release) for release in versions.values()}
    assert len(programs) == 2
    assert {path.suffix for path in SOURCES.iterdir()} == {".go", ".mod"}


@pytest.mark.parametrize("wrong", [["--suites", "gates"], ["--versions", "1.20"], ["--cases", "x"]])
def test_wrong_usage_ends_with_code_2(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(wrong)

    assert ended.value.code == 2


@pytest.mark.integration
def test_the_seed_and_the_counts_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    if not built_program(known_versions()["1.37"]).is_file():
        skip_or_fail("no judge to compare with: run `make oracle`", ENVTEST)

    code = main(["--seed", "5", "--cases", "20", "--versions", "1.37", "--suites", "selector"])

    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        "seed 5, 20 cases of each suite and version",
        "Kubernetes 1.37 selector: 20 cases, 0 different",
    ]
