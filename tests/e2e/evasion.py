"""
Pods that evaded defaulting, and what audits say of them.

A pod has evaded defaulting if it is stored without constraints, but gets some when the same pod is
created again. So the API server and the webhook decide, and not the code of the audit.
"""

import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from http import HTTPStatus
from io import StringIO
from pathlib import Path

from tests.controlplane.api import Api, Json
from tests.controlplane.plane import ControlPlane
from tests.e2e.objects import constraints
from webhook.__main__ import main

DONE, UNFINISHED = 0, 3  # exit codes; custom objects of any shape cannot all be read
RULE = "TSC115"  # running pods have the defaults of their profile
_OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


def find_evaders(plane: ControlPlane, namespace: str) -> set[str]:
    """The names of the pods in a namespace that evaded defaulting."""
    # kubectl leaves managedFields out, which Python's decoder cannot read at 1 000 levels.
    found = plane.kubectl("get", "pods", "-n", namespace, "-o", "json").stdout
    bare = [pod for pod in json.loads(found)["items"] if not constraints(pod)]
    return {pod["metadata"]["name"] for pod in bare if _defaults(plane.api, pod)}


def _defaults(api: Api, pod: Json) -> list[Json]:
    """The constraints that a pod gets if it is created again; none if it cannot be."""
    metadata = {key: value for key, value in pod["metadata"].items() if key not in _OF_THE_SERVER}
    again = {**pod, "metadata": {**metadata, "name": "again"}}
    reply = api.request("POST", api.collection_of(again), again, query={"dryRun": "All"})
    return constraints(reply.body) if reply.status == HTTPStatus.CREATED else []


def find_audited(plane: ControlPlane, namespace: str, config: Path) -> set[str]:
    """The names of the pods in a namespace that an audit reports for the lack of defaults."""
    out, err = StringIO(), StringIO()
    kubeconfig = str(plane.apiserver.kubeconfig)
    flags = ("-n", namespace, "--kubeconfig", kubeconfig, "--config", str(config))
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["audit", *flags, "-o", "json", "--fail-on", "never"])
    assert code in (DONE, UNFINISHED), err.getvalue()
    assert "Traceback" not in err.getvalue(), err.getvalue()
    return set(_reported(json.loads(out.getvalue())))


def _reported(report: Json) -> Iterator[str]:
    for workload in report["workloads"]:
        if workload["kind"] == "Pod" and RULE in {
            finding["rule"] for finding in workload["findings"]
        }:
            yield workload["name"]
