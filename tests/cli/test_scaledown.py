"""``evenspread scaledown``: pods with ranks, and the removal of the ranks."""

from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer, Behavior, Json, refuse
from tests.cli.conftest import Run
from tests.cluster.objects import labelled_pod
from webhook.cli.scaledown import MOST_FAILED
from webhook.cluster.protocol import FailureReason
from webhook.errors import ApiError
from webhook.policy.model import ZONE
from webhook.policy.scaledown.ranks import DELETION_COST, SCALE_DOWN_LABEL, cost_of_rank

CLUSTER = ("--kubeconfig", "kubeconfig")
POD = "/api/v1/namespaces/shop/pods"


def web_pod(name: str, rank: int = 0, cost: str = "", app: str = "web") -> Json:
    pod = labelled_pod(name, rank=rank)
    metadata = pod["metadata"]
    metadata["labels"]["app"] = app
    metadata["ownerReferences"][0]["name"] = app
    if cost:
        metadata["annotations"] = {DELETION_COST: cost}
    return pod


@pytest.fixture
def pods(api: ApiServer) -> ApiServer:
    """Pods of two workloads, with ranks, without, and with a cost of another client."""
    other = labelled_pod("s", rank=1, namespace="other")
    other["metadata"]["ownerReferences"] = []
    api.add(
        web_pod("p", 1), web_pod("q"), web_pod("r", cost="7"), web_pod("t", 2, app="api"), other
    )
    return api


def costs(api: ApiServer) -> dict[str, str | None]:
    return {
        obj["metadata"]["name"]: obj["metadata"]["annotations"].get(DELETION_COST)
        for obj in api.objects.values()
    }


def labelled(api: ApiServer) -> set[str]:
    return {
        obj["metadata"]["name"]
        for obj in api.objects.values()
        if SCALE_DOWN_LABEL in obj["metadata"]["labels"]
    }


@pytest.mark.usefixtures("pods")
def test_pods_are_counted_by_controller(run: Run) -> None:
    ran = run("scaledown", *CLUSTER)

    assert ran.code == 0
    assert [line.split() for line in ran.out.splitlines()] == [
        ["namespace", "controller", "pods", "ranked", "unranked", "other", "costs"],
        ["other", "-", "1", "1", "0", "0"],
        ["shop", "ReplicaSet/api", "1", "1", "0", "0"],
        ["shop", "ReplicaSet/web", "3", "1", "1", "1"],
    ]


@pytest.mark.usefixtures("pods")
def test_counts_are_written_as_json(run: Run) -> None:
    (document,) = run("scaledown", *CLUSTER, "-n", "shop", "-l", "app=web", "-o", "json").documents

    assert document == {
        "controllers": [
            {
                "namespace": "shop",
                "kind": "ReplicaSet",
                "name": "web",
                "pods": 3,
                "ranked": 1,
                "unranked": 1,
                "otherCosts": 1,
                "domains": [],
            }
        ]
    }


RANKS = """\
  namespace  controller      pods  ranked  unranked  other costs
  shop       ReplicaSet/web  4     3       1         0

ReplicaSet/web in shop, ranks by zone
  domain  pods  ranks  duplicates  gaps
  a       2     1      1           -
  b       1     3      -           1-2
"""


def test_ranks_are_shown_by_domain(folder: Path, run: Run) -> None:
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {ZONE: name[0]}}}
        for name in ("a1", "b1")
    ]
    pods = [
        web_pod(name, rank) | {"spec": labelled_pod(name, node)["spec"]}
        for name, node, rank in (("p", "a1", 1), ("q", "a1", 1), ("r", "b1", 3), ("s", "", 0))
    ]
    (folder / "cluster.yaml").write_text(yaml.safe_dump_all([*nodes, *pods]))
    run("audit", "-f", "cluster.yaml", "--save-snapshot", "cluster.gz", "--fail-on", "never")

    for options in (("-f", "cluster.yaml"), ("--facts", "cluster.yaml"), ("--facts", "cluster.gz")):
        assert run("scaledown", *options) == (0, RANKS, "")
    (document,) = run("scaledown", "-f", "cluster.yaml", "-o", "json").documents
    assert document["controllers"][0]["domains"][1] == {
        "topologyKey": ZONE,
        "domain": "b",
        "pods": 1,
        "ranks": [3],
        "duplicates": [],
        "gaps": [1, 2],
    }


def test_a_file_that_cannot_be_read_is_an_error(run: Run) -> None:
    ran = run("scaledown", "-f", "none.yaml")

    assert (ran.code, ran.err[:16]) == (3, "error: none.yaml")


def test_other_controllers_are_left_out(folder: Path, run: Run) -> None:
    (folder / "pods.yaml").write_text(
        yaml.safe_dump_all([web_pod("p", 1), web_pod("q", app="api")])
    )

    (document,) = run("scaledown", "-f", "pods.yaml", "-l", "app=api", "-o", "json").documents

    assert [row["name"] for row in document["controllers"]] == ["api"]


@pytest.mark.usefixtures("api")
def test_a_cluster_without_labelled_pods_is_reported(run: Run) -> None:
    ran = run("scaledown", *CLUSTER)

    assert (ran.code, ran.out) == (
        0,
        "no pod has the label evenspread.io/scale-down: keep-spread\n",
    )


def test_ranks_and_labels_are_removed(pods: ApiServer, run: Run) -> None:
    ran = run("scaledown", *CLUSTER, "--remove")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "removed 3 ranks and 5 labels; left 1 cost of other clients\n"
    assert not labelled(pods)
    assert costs(pods) == {"p": None, "q": None, "r": "7", "s": None, "t": None}


@pytest.mark.parametrize("cost", ["0", "1000", "-1000", "10000", "999000"])
def test_a_cost_that_looks_like_a_rank_stays(api: ApiServer, run: Run, cost: str) -> None:
    api.add(web_pod("p", cost=cost))

    shown, removed = run("scaledown", *CLUSTER), run("scaledown", *CLUSTER, "--remove")

    assert shown.out.splitlines()[1].split()[2:] == ["1", "0", "0", "1"]
    assert removed.out == "removed 0 ranks and 1 label; left 1 cost of other clients\n"
    assert costs(api) == {"p": cost}


def test_only_the_named_pods_are_changed(pods: ApiServer, run: Run) -> None:
    ran = run("scaledown", *CLUSTER, "--remove", "-n", "shop", "-l", "app=api", "-o", "json")

    assert ran.documents == [
        {
            "dryRun": False,
            "labels": 1,
            "ranks": 1,
            "keptCosts": 0,
            "gone": 0,
            "failed": 0,
            "notTried": 0,
        }
    ]
    assert labelled(pods) == {"p", "q", "r", "s"}


def test_a_dry_run_changes_nothing(pods: ApiServer, run: Run) -> None:
    ran = run("scaledown", *CLUSTER, "--remove", "--dry-run")

    assert (ran.code, pods.writes) == (0, [])
    assert ran.out.startswith("would remove 3 ranks and 5 labels")


def test_a_pod_that_goes_meanwhile_is_no_error(pods: ApiServer, run: Run) -> None:
    pods.answers[f"PATCH {POD}/p"] = refuse("not found", 404)

    ran = run("scaledown", *CLUSTER, "--remove", "-o", "json")

    assert ran.code == 0
    assert (ran.documents[0]["labels"], ran.documents[0]["gone"]) == (4, 1)


def test_the_other_pods_are_changed_after_an_error(pods: ApiServer, run: Run) -> None:
    pods.answers[f"PATCH {POD}/p"] = refuse("denied by a policy")

    ran = run("scaledown", *CLUSTER, "--remove")

    assert (ran.code, labelled(pods)) == (3, {"p"})
    assert ran.err.startswith("error: pod shop/p: ")
    assert costs(pods)["p"] == str(cost_of_rank(1))


NUMBER = MOST_FAILED + 3

# the answer to each write in one namespace, the pods changed and not tried, the last line
MANY_ERRORS: dict[str, tuple[Behavior, int, int, str]] = {
    "refusals": (refuse("no"), 1, 3, "error: 3 more pods in shop not tried after these errors"),
    "no response": (
        ApiError("api", "is silent", FailureReason.SILENT),
        0,
        4,
        "error: 4 more pods not tried after these errors",
    ),
    "an expired token": (
        refuse("no", 401), 0, 4, "error: 4 more pods not tried after these errors"
    ),
    "conflicts": (refuse("changed", 409), 1, 0, "error: pod shop/p12: "),
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "changed", "left", "words"), MANY_ERRORS.values(), ids=MANY_ERRORS
)
def test_many_errors_end_the_removal_where_they_occur(
    api: ApiServer, run: Run, *, answer: Behavior, changed: int, left: int, words: str
) -> None:
    api.add(*(web_pod(f"p{i:02}", i + 1) for i in range(NUMBER)))
    api.add(labelled_pod("z", rank=1, namespace="zoo"))
    for i in range(NUMBER):
        api.answers[f"PATCH {POD}/p{i:02}"] = answer

    ran = run("scaledown", *CLUSTER, "--remove", "-o", "json")

    assert ran.code == 3
    assert ran.err.splitlines()[-1].startswith(words)
    (document,) = ran.documents
    assert (document["ranks"], document["notTried"]) == (changed, left)
    assert document["failed"] == NUMBER + 1 - changed - left


ERRORS = {
    "a dry run of nothing": (("--dry-run",), 2, "--dry-run: requires --remove"),
    "the removal from files": (
        ("--remove", "-f", "x.yaml"),
        2,
        "--remove: changes the live cluster: leave out -f",
    ),
    "the removal from facts": (("--remove", "--facts", "x.yaml"), 2, "leave out -f, -k and"),
    "no cluster": (("--kubeconfig", "none"), 3, "credentials cannot be used"),
}


@pytest.mark.parametrize(("arguments", "code", "message"), ERRORS.values(), ids=ERRORS)
def test_an_error_has_its_exit_code(
    arguments: tuple[str, ...], code: int, message: str, run: Run
) -> None:
    ran = run("scaledown", *arguments)

    assert ran.code == code
    assert message in ran.err
