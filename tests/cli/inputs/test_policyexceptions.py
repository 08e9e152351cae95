import asyncio
from typing import Any

import pytest

from tests.apiserver import ApiServer, Json, refuse
from webhook.cli.inputs.policyexceptions import read_exceptions
from webhook.cluster.facts import Cluster
from webhook.errors import ApiError

LISTED = "/apis/evenspread.io/v1alpha1/namespaces/shop/spreadpolicyexceptions"


def policy_exception(name: str, **spec: Any) -> Json:
    return {
        "apiVersion": "evenspread.io/v1alpha1",
        "kind": "SpreadPolicyException",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"defaults": True, "reason": "old", **spec},
    }


def names(server: ApiServer) -> list[str]:
    cluster = Cluster()
    asyncio.run(read_exceptions(server, cluster, ["shop"]))
    return [one.name for one in cluster.exceptions("shop")]


def test_exceptions_expire_by_the_clock_of_the_command() -> None:
    ends = {
        year: policy_exception(f"y{year}", expires=f"{year}-01-31T00:00:00Z")
        for year in (2020, 9000)
    }

    assert names(ApiServer(policy_exception("a"), *ends.values())) == ["a", "y9000"]


def test_without_the_right_to_list_them_they_do_not_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = ApiServer(policy_exception("a"))
    server.answers[f"GET {LISTED}"] = refuse("no", 403)

    assert names(server) == []
    message = capsys.readouterr().err
    assert message.startswith("SpreadPolicyExceptions of the cluster do not count: ")
    assert message.count("\n") == 1


def test_another_failure_is_an_error() -> None:
    server = ApiServer(policy_exception("a"))
    server.answers[f"GET {LISTED}"] = refuse("broken", 500)

    with pytest.raises(ApiError, match="500"):
        names(server)
