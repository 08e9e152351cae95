from pathlib import Path

import pytest

from tests.conformance.__main__ import check

FILES = sorted(Path(__file__).with_name("data").iterdir())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_recorded_case_is_answered_as_by_kubernetes(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = check([file])

    printed = capsys.readouterr().out
    assert code == 0, printed
    assert printed.endswith(" passed, 0 failed\n")


def test_there_is_a_file_of_every_suite() -> None:
    suites = {file.name.removesuffix(".jsonl.gz") for file in FILES}

    assert suites == {"defaults-config", "gates", "placement", "selector", "validation"}
