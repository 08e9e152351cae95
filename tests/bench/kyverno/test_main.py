"""The command line of the comparison."""

import pytest

from tests.bench.kyverno.__main__ import main


@pytest.mark.parametrize("arguments", [["--rounds", "0"], ["--rounds", "some"], ["--unknown"]])
def test_nothing_is_built_for_arguments_that_are_wrong(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)

    assert "usage: python -m tests.bench.kyverno" in capsys.readouterr().err
