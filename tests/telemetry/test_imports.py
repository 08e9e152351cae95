"""What a library cannot import, others still can."""

import sys
from importlib import import_module

import pytest

from webhook.telemetry.imports import without


def test_what_is_there_cannot_be_imported_meanwhile() -> None:
    before = import_module("rich")

    with without("rich"), pytest.raises(ModuleNotFoundError):
        import_module("rich")

    assert import_module("rich") is before


def test_what_was_not_imported_can_be_imported_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "antigravity", raising=False)

    with without("antigravity"), pytest.raises(ModuleNotFoundError):
        import_module("antigravity")

    assert "antigravity" not in sys.modules


def test_it_is_let_in_again_after_a_failure() -> None:
    with pytest.raises(ZeroDivisionError), without("rich"):
        raise ZeroDivisionError

    assert sys.modules["rich"] is not None
