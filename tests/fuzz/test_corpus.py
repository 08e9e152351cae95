"""Every input of the corpus, and some that differ from it, are read as they should be."""

from pathlib import Path

import pytest

from tests.fuzz.bounds import LARGEST_INPUT, run_bounded
from tests.fuzz.mutate import mutate
from tests.fuzz.targets import NAMES, load

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(file for file in CORPUS.glob("*/*") if file.is_file())

CHANGES = 4  # of each file; `make fuzz` makes many thousands


def test_every_target_has_a_corpus() -> None:
    assert {file.parent.name for file in FILES} == set(NAMES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_an_input_is_read_as_it_should_be(file: Path) -> None:
    run_bounded(load(file.parent.name).check, file.read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_changed_inputs_are_read_as_they_should_be(name: str) -> None:
    check = load(name).check
    for file in FILES:
        if file.parent.name == name:
            data = file.read_bytes()
            for seed in range(CHANGES):
                data = mutate(data, LARGEST_INPUT, seed) or data
                run_bounded(check, data)
