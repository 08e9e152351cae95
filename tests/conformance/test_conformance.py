from pathlib import Path

import pytest

from tests.conformance.__main__ import check, solver
from tests.conformance.comparison import differs

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

    assert suites == {
        "defaults-config",
        "filters",
        "gates",
        "placement",
        "scaledown",
        "selector",
        "validation",
    }


GIVEN: dict[str, tuple[list[str], bool]] = {
    "as expected": (["a", "b", "c"], False),
    "other pods of a group": (["a", "d", "b"], False),
    "another order": (["b", "a", "c"], True),
    "one pod twice": (["a", "b", "b"], True),
    "too few": (["a", "b"], True),
}


@pytest.mark.parametrize(("removed", "different"), GIVEN.values(), ids=GIVEN)
def test_removed_pods_are_compared_by_their_groups(removed: list[str], different: bool) -> None:
    case = {"expect": {"removed": ["a", "b", "c"], "groups": [["b", "c", "d"]]}}

    assert differs(case, {"removed": removed}) is different


def test_the_workload_to_scale_down_need_not_be_in_the_cluster() -> None:
    owner = {"kind": "ReplicaSet", "name": "web", "controller": True}
    spec = {"nodeName": "n1"}
    pods = [
        {"metadata": {"name": "a", "namespace": "shop", "ownerReferences": [owner]}, "spec": spec},
        {"metadata": {"name": "b", "namespace": "shop", "ownerReferences": [owner]}},
        {"metadata": {"name": "c", "namespace": "shop"}},
    ]
    case = {"cluster": {"pods": pods}, "workload": "ReplicaSet/shop/web", "replicas": 1, "now": 9}

    assert solver("scaledown")(case) == {"removed": ["b"]}
