"""
Compare ``evenspread validate`` with a server-side dry run of the same objects.

Published manifests seldom have constraints, and hardly ever invalid ones. So each object is
compared twice: as it is, and with a list that breaks an API rule, or with the fixed list.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.controlplane.api import Api, ApiError, Json, Reply
from tests.controlplane.waiting import until
from tests.docs.api_examples import API_EXAMPLES
from webhook.manifests import Document, read_documents
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import TemplatePath, is_object

LIST = "topologySpreadConstraints"
SECONDS = 300  # of judging one project's objects; the most, 2 600 of Kyverno, took 3
FINE, DENIED = 0, 1  # exit codes of ``validate``

VALIDATED = frozenset({HTTPStatus.CREATED, HTTPStatus.UNPROCESSABLE_ENTITY})
"""Answers about a whole object. Other plugins of the API server answer before (403, an unknown
PriorityClass), and so does its decoder (400)."""

PLANTED: tuple[list[Json], ...] = tuple(
    yaml.safe_load(manifest)["spec"][LIST]
    for example in API_EXAMPLES.values()
    for manifest in (example.violates, example.passes)
)

Causes = frozenset[tuple[str, str, str]]
"""Why constraints are refused: reason, field and message of each cause."""


class Verdict(NamedTuple):
    """
    An answer to one object, as far as it is about constraints.

    Attributes:
        code: HTTP status.
        causes: Those about constraints.
        undecodable: Whether a constraint has the wrong type, so that there are no causes.
    """

    code: int
    causes: Causes
    undecodable: bool = False


class Comparison:
    """
    Both answers to many objects.

    Attributes:
        counts: How the API server answered: ``accepted``, ``refused for constraints``, ``refused
            for something else``, ``not validated``.
        differences: What is not alike, in words.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.counts: Counter[str] = Counter()
        self.differences: list[str] = []

    def add(self, name: str, theirs: Verdict, ours: Verdict) -> None:
        """Take the answers of the API server and of ``validate`` to an object."""
        self.counts[_outcome(theirs)] += 1
        if not agree(theirs, ours):
            self.differences.append(f"{name}\n  API server: {theirs}\n  validate:   {ours}")


def agree(theirs: Verdict, ours: Verdict) -> bool:
    """
    Whether ``validate`` reports of constraints what the API server reports.

    An object that is refused before its constraints are validated has no message about them; but
    one that ``validate`` cannot decode must not be accepted.
    """
    if theirs.undecodable or ours.undecodable:
        return ours.undecodable and theirs.code not in VALIDATED
    return theirs.code not in VALIDATED or theirs.causes == ours.causes


def _outcome(theirs: Verdict) -> str:
    if theirs.causes or theirs.undecodable:
        return "refused for constraints"
    if theirs.code == HTTPStatus.CREATED:
        return "accepted"
    return "refused for something else" if theirs.code in VALIDATED else "not validated"


def compare(
    manifests: Path, api: Api, version: str, seen: Comparison, *, namespace: str = "default"
) -> None:
    """
    Ask both about every built-in workload of a file or folder, as it is and planted.

    Args:
        manifests: What cannot be read in them is left out.
        api: Of the API server.
        version: Its minor version, as ``1.36``.
        seen: Takes the answers.
        namespace: Where every object is tried; of a dry run nothing is stored.
    """
    tried = list(_variants(manifests, namespace))
    ours = validated([obj for _, obj in tried], version)
    for (name, obj), verdict in zip(tried, ours, strict=True):
        seen.add(name, request_verdict(api, obj), verdict)


def _variants(manifests: Path, namespace: str) -> Iterator[tuple[str, Json]]:
    lists = itertools.cycle(PLANTED)
    for item in read_documents([str(manifests)]):
        if not isinstance(item, Document):
            continue
        path = BUILT_IN_TEMPLATES.get(GroupKind(group_of(item.api_version), item.kind))
        if path is None or not is_object(item.value.get("metadata")):
            continue
        obj = deepcopy(item.value)
        obj["metadata"]["namespace"] = namespace
        yield item.place(), obj
        planted = _plant(obj, path, next(lists))
        if planted is not None:
            yield f"{item.place()}, planted", planted


def _plant(obj: Json, path: TemplatePath, constraints: list[Json]) -> Json | None:
    """A copy with other constraints; None if it has no place for them."""
    planted = deepcopy(obj)
    holder: Any = planted
    for member in (*path, "spec"):
        holder = holder.get(member) if is_object(holder) else None
    if not is_object(holder):
        return None
    holder[LIST] = constraints
    return planted


def validated(objects: list[Json], version: str) -> list[Verdict]:
    """The verdicts of the command, in the order of the objects."""
    with tempfile.TemporaryDirectory(prefix="validated-") as scratch:
        file = Path(scratch, "objects.json")
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        command = (sys.executable, "-m", "webhook", "validate", "-f", str(file))
        done = subprocess.run(
            (*command, "--kube-version", version, "-o", "json"),
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    if done.returncode not in (FINE, DENIED):
        done.check_returncode()
    reports = (json.loads(line) for line in done.stdout.splitlines())
    return [
        Verdict(report["code"], _causes(report["causes"]), report["code"] == HTTPStatus.BAD_REQUEST)
        for report in reports
    ]


def request_verdict(api: Api, obj: Json) -> Verdict:
    """Get the verdict of the API server on an object, by a dry run."""
    try:
        path = api.collection_of(obj)
    except (ApiError, KeyError):  # it serves no such version, or no such kind in it
        return Verdict(HTTPStatus.NOT_FOUND, frozenset())

    def judge() -> Verdict | None:
        reply = api.request("POST", path, obj, query={"dryRun": "All"})
        return None if _is_own_fault(reply) else verdict_of(reply)

    return until(judge, "an answer of the API server about the object")


def _is_own_fault(reply: Reply) -> bool:
    """Whether an API server that has just started, or is busy, answers about itself."""
    causes = reply.body.get("details", {}).get("causes", ())
    is_about_fields = all("field" in cause for cause in causes)
    return reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR or not is_about_fields


def verdict_of(reply: Reply) -> Verdict:
    """Read an answer of the API server."""
    causes = _causes(reply.body.get("details", {}).get("causes", ()))
    undecodable = reply.status == HTTPStatus.BAD_REQUEST and LIST in str(reply.body.get("message"))
    return Verdict(reply.status, causes, undecodable)


def _causes(listed: list[Mapping[str, str]]) -> Causes:
    return frozenset(
        (cause["reason"], cause["field"], cause["message"])
        for cause in listed
        if LIST in cause["field"]
    )
