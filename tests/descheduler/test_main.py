import pytest

from tests.descheduler.__main__ import main
from tests.descheduler.build import MODULES, built_program


def test_the_program_is_named_for_its_modules() -> None:
    assert built_program().name.startswith("descheduler-")
    assert "sigs.k8s.io/descheduler v0.36.0" in (MODULES / "go.mod").read_text()


@pytest.mark.parametrize("wrong", [["--clusters", "x"], ["--seed"], ["x"]])
def test_wrong_usage_ends_with_code_2(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(wrong)

    assert ended.value.code == 2
