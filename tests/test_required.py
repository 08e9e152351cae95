"""Nothing that CI requires is skipped in silence."""

from pathlib import Path

import pytest

from tests.e2e.containers import find_obstacle
from tests.required import ENVTEST, TOOLS, skip_or_fail

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("variable", [ENVTEST, TOOLS])
def test_what_is_missing_is_skipped_unless_it_is_required(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(pytest.skip.Exception, match="no program"):
        skip_or_fail("no program", variable)

    monkeypatch.setenv(variable, "1")
    with pytest.raises(pytest.fail.Exception, match="no program"):
        skip_or_fail("no program", variable)


def test_ci_requires_both() -> None:
    assert f"export {ENVTEST}=1 {TOOLS}=1" in (ROOT / ".ci/run").read_text()


def test_containers_need_root() -> None:
    assert "needs root" in find_obstacle(1000)
