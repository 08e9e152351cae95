import gc
import weakref
from collections.abc import Iterator

import pytest

from webhook.cli.garbage import end_process, keep_until_end, pause_garbage_collection, release_kept


class Kept:
    """An object whose end can be observed."""


@pytest.fixture(autouse=True)
def released() -> Iterator[None]:
    yield
    release_kept()


def test_garbage_collection_is_off_in_the_context_and_on_afterwards() -> None:
    with pause_garbage_collection():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_garbage_collection_is_on_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="wrong"), pause_garbage_collection():
        raise ValueError("wrong")

    assert gc.isenabled()


def test_garbage_collection_stays_off_if_it_was_off() -> None:
    with pause_garbage_collection():
        with pause_garbage_collection():
            pass
        assert not gc.isenabled()


def test_a_process_that_keeps_objects_frees_none_of_them() -> None:
    codes = list[int]()
    kept = Kept()
    watched = weakref.ref(kept)
    keep_until_end(kept)
    del kept

    end_process(3, codes.append)

    assert watched() is not None
    assert codes == [3]


def test_a_process_that_keeps_nothing_ends_as_usual() -> None:
    codes = list[int]()

    end_process(0, codes.append)

    assert codes == []
    assert gc.get_freeze_count() > 0


def test_a_process_that_goes_on_keeps_nothing() -> None:
    kept = Kept()
    watched = weakref.ref(kept)
    keep_until_end(kept)
    del kept

    release_kept()

    assert watched() is None
    assert gc.get_freeze_count() == 0
