"""Each test defers a package of its own, ``large``, which imports a slow module."""

import inspect
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from threading import Event
from types import ModuleType

import pytest

from webhook.cluster.client.deferred import defer_packages

INIT = """
OTHER = "other"
from large.slow import SLOW

__all__ = ["SLOW", "OTHER"]
"""
"""What executes when the package is imported as usual."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    large = tmp_path / "large"
    (large / "part").mkdir(parents=True)
    (large / "__init__.py").write_text(INIT)
    (large / "slow.py").write_text("SLOW = 'slow'\n")
    (large / "quick.py").write_text("from large import part\nQUICK = 'quick'\n")
    (large / "needy.py").write_text("from large import OTHER as NEEDED\n")
    (large / "part" / "__init__.py").write_text("import large.slow\n")
    (large / "part" / "small.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield large
    for name in [name for name in sys.modules if name.partition(".")[0] in ("large", "gate")]:
        del sys.modules[name]


def import_deferred(*submodules: str) -> ModuleType:
    with defer_packages("large", "large.part"):
        for name in submodules:
            import_module(name)
    return sys.modules["large"]


@pytest.mark.usefixtures("folder")
def test_submodules_are_imported_without_what_their_packages_import() -> None:
    large = import_deferred("large.quick", "large.part.small")

    assert large.quick.QUICK == "quick"
    assert large.part is large.quick.part is sys.modules["large.part"]
    assert large.part.small is sys.modules["large.part.small"]
    assert "large.slow" not in sys.modules


@pytest.mark.usefixtures("folder")
def test_a_missing_attribute_executes_the_package() -> None:
    large = import_deferred()

    assert large.OTHER == "other"
    assert large.SLOW == sys.modules["large.slow"].SLOW


@pytest.mark.usefixtures("folder")
def test_a_further_submodule_executes_the_package_first() -> None:
    large = import_deferred()

    assert import_module("large.needy").NEEDED == "other"
    assert large.needy is sys.modules["large.needy"]


@pytest.mark.usefixtures("folder")
def test_all_its_names_can_be_imported() -> None:
    import_deferred()
    names: dict[str, object] = {}

    exec("from large import *", names)

    assert names["SLOW"] == "slow"
    assert names["OTHER"] == "other"


@pytest.mark.usefixtures("folder")
def test_an_attribute_that_is_in_place_executes_nothing() -> None:
    large = import_deferred()
    large.__dict__["SLOW"] = "given"

    assert import_module("large").SLOW == "given"
    assert "large.slow" not in sys.modules


@pytest.mark.usefixtures("folder")
def test_an_unknown_attribute_is_reported_as_usual() -> None:
    large = import_deferred()

    with pytest.raises(AttributeError, match=r"^module 'large' has no attribute 'absent'$"):
        large.absent  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'absent' from 'large'"):
        exec("from large import absent", {})


def test_its_own_imports_find_no_more_than_is_there_yet(folder: Path) -> None:
    (folder / "slow.py").write_text("from large import SLOW\n")
    large = import_deferred()

    with pytest.raises(ImportError, match="cannot import name 'SLOW' from 'large'"):
        large.SLOW  # noqa: B018


@pytest.mark.usefixtures("folder")
def test_a_package_that_is_imported_already_stays_as_it_is() -> None:
    before = import_module("large")

    assert import_deferred() is before
    assert before.SLOW == "slow"
    assert "__getattr__" not in vars(before)


@pytest.mark.usefixtures("folder")
def test_it_can_be_completed_after_a_failure() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'large\.absent'"):
        import_deferred("large.absent")

    assert import_module("large").SLOW == "slow"


def test_a_package_that_is_not_installed_is_reported_as_usual() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match="No module named 'large'"),
        defer_packages("large"),
    ):
        pass


def test_its_source_and_files_are_found(folder: Path) -> None:
    large = import_deferred()

    assert inspect.getsource(large).strip() == INIT.strip()
    assert (files(large) / "quick.py").read_text() == (folder / "quick.py").read_text()


def test_a_thread_waits_until_another_has_executed_it(folder: Path) -> None:
    gate = ModuleType("gate")
    entered, leave, executed = Event(), Event(), list[str]()
    vars(gate).update(entered=entered, leave=leave, executed=executed)
    sys.modules["gate"] = gate
    waits = "import gate\ngate.executed.append('large')\ngate.entered.set()\ngate.leave.wait()\n"
    (folder / "slow.py").write_text(f"{waits}SLOW = 'slow'\n")
    large = import_deferred()

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: large.SLOW)
        assert entered.wait(60)
        second = threads.submit(lambda: large.SLOW)
        leave.set()

    assert (first.result(), second.result()) == ("slow", "slow")
    assert executed == ["large"]
