from hypothesis import given
from hypothesis import strategies as st

from webhook.export.names import name_objects
from webhook.policy.api.labels import value_problems

some_names = st.lists(
    st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?", fullmatch=True)
)


def test_names_are_lower_case_with_dashes() -> None:
    assert name_objects(["web", "Web.Team_1", "cluster/gpu"]) == [
        "evenspread-web",
        "evenspread-web-team-1",
        "evenspread-cluster-gpu",
    ]


def test_equal_names_get_numbers() -> None:
    assert name_objects(["a.b", "A_b", "a-b"]) == [
        "evenspread-a-b",
        "evenspread-a-b-2",
        "evenspread-a-b-3",
    ]


@given(some_names)
def test_every_name_is_valid_and_occurs_once(names: list[str]) -> None:
    found = name_objects(names)

    assert len(set(found)) == len(names)
    assert [problem for name in found for problem in value_problems(name)] == []
    assert all(name == name.lower() for name in found)
