"""What a call says of its own time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.server.http.body import CallTarget, read_target

TARGETS = {
    "seconds, as kube-apiserver writes them": ("/mutate?timeout=10s", CallTarget("/mutate", 10.0)),
    "several units": ("/mutate?timeout=1m30s", CallTarget("/mutate", 90.0)),
    "milliseconds": ("/validate?timeout=500ms", CallTarget("/validate", 0.5)),
    "a fraction": ("/validate?timeout=0.5s", CallTarget("/validate", 0.5)),
    "beside another parameter": ("/mutate?a=b&timeout=3s", CallTarget("/mutate", 3.0)),
    "escaped": ("/mutate?timeout=%33s", CallTarget("/mutate", 3.0)),
    "absent": ("/mutate", CallTarget("/mutate", None)),
    "empty": ("/mutate?timeout=", CallTarget("/mutate", None)),
    "without a unit": ("/mutate?timeout=10", CallTarget("/mutate", None)),
    "not a number": ("/mutate?timeout=soon", CallTarget("/mutate", None)),
    "zero": ("/mutate?timeout=0s", CallTarget("/mutate", None)),
    "negative": ("/mutate?timeout=-3s", CallTarget("/mutate", None)),
    "among too many parameters": (f"/mutate?{'a=b&' * 9}timeout=3s", CallTarget("/mutate", None)),
}


@pytest.mark.parametrize(("target", "read"), TARGETS.values(), ids=TARGETS)
def test_read_target(target: str, read: CallTarget) -> None:
    assert read_target(target) == read


@given(st.text())
def test_any_target_can_be_read(target: str) -> None:
    path, timeout = read_target(target)

    assert target.startswith(path)
    assert timeout is None or timeout > 0
