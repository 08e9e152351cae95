"""
A tenant with rights in one namespace attacks the replicas; other tenants are not affected.

The figures of each test are printed: ``pytest -rP`` shows them.
"""

import json
import os
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from itertools import count, product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.controlplane.api import Reply
from tests.controlplane.assets import Assets
from tests.controlplane.fixtures import run_plane
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import AUDIT_PATIENCE_S, until
from tests.e2e.attacks import (
    ATTACKS,
    DEEP,
    DEPTHS,
    SMALL,
    STORED,
    WIDE,
    Chosen,
    deep_custom_objects,
    generated,
    listed,
)
from tests.e2e.customkinds import define
from tests.e2e.evasion import RULE, find_audited, find_evaders
from tests.e2e.health import memory, peak
from tests.e2e.hostile import (
    KINDS,
    MIB,
    MOST_REVIEW,
    MOST_STORED,
    Attack,
    managed,
    pairs,
    review,
)
from tests.e2e.objects import LONG, rounds, service
from tests.e2e.replica import CONFIG
from tests.e2e.siege import MOST_MEMORY, Received, Siege, besiege_ranks
from tests.e2e.tenantkinds import CUSTOM, definitions, ordinary
from webhook.__main__ import main

pytestmark = pytest.mark.alone

SECONDS = float(os.environ.get("EVENSPREAD_HOSTILE_SECONDS", "5"))
"""How long generated attacks go on."""

BATCH = 5  # generated attacks with one seed
MOST_CREATED = 100_000  # bytes of a generated member; kube-apiserver is slow to refuse a million
SERVICES = rounds(100, 3000)
LARGE = rounds(5, 200)  # Services of 1.4 MB each, of which a cache made 28 MiB each
MOST_OBJECTS = 100
"""
Generated objects that are stored at a time, without pods.

kube-apiserver needs 50 MiB for one of 460 000 empty maps, and had 20 GiB after ten minutes.
"""
LARGEST_ANSWER = 200 * 1024  # bytes: a hundred causes with sentences of 1 KiB, and their warnings
HOOKS = ("mutate", "validate")
MOST_HELD = 200 * MIB  # a replica has 130 MiB; five such Services would add 140
GROUPS, PAIRS = 10, 5_000  # Services, and pairs of the selector of each
COMBINATIONS = rounds(8, 2**GROUPS)  # of Services that select a pod
SOME_WIDE = (
    "1000 constraints of 200 bad labels",
    "a constraint of 500 000 bad values",
    "a label of less-thans",
    "a topology key of control characters",
    "less-thans that are stored",
    "a selector of 160 000 pairs",
)  # the short form; test_reviews_sent_to_a_replica sends the others without the API server
RECOMMEND = f"{CONFIG}\nmode: recommend\n"


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """One of its own: what lies in it would break the replicas of other tests."""
    options = Options(controllers=False, scheduler=False, service_accounts=False, audit=True)
    with run_plane(ControlPlane(control_plane_assets, options), request.config) as started:
        for custom in definitions():
            define(started, custom)
        yield started


STORABLE = DEEP | STORED  # kube-apiserver takes up to minutes to refuse one of the others
STORED_STATUSES = {HTTPStatus.OK, HTTPStatus.CREATED}


def withstood(siege: Siege, *more: str) -> None:
    """Print the figures of a siege that is over; nothing may have been broken."""
    print("\n".join(siege.figures))
    troubles = (*siege.troubles, *more)
    assert not troubles, "\n".join(troubles)


def test_deep_objects_of_every_kind(plane: ControlPlane, tmp_path: Path) -> None:
    """And a replica that starts with them becomes ready, however it lists them."""
    answers: dict[str, Reply] = {}
    with Siege(plane, tmp_path) as siege:
        for kind in KINDS:
            for depth in DEPTHS if LONG else DEPTHS[1::2]:
                attack = Attack("metadata/managedFields", managed(depth))
                title = f"{kind}, managedFields {depth} levels deep"
                with siege.step(title):
                    answers[f"{title}, created"] = siege.create(attack, kind, f"created-{depth}")
                    answers[f"{title}, updated"] = siege.update(attack, kind, f"updated-{depth}")
        for version in ("1.31", "1.36"):  # lists in pages, and as streams
            with siege.another(version, kube_version=version) as late:
                late.wait()

    withstood(siege, *refused(answers))


def test_deep_members_are_judged_as_shallow_ones(plane: ControlPlane, tmp_path: Path) -> None:
    """A list instead of an object is refused, unless no code reads it."""
    statuses: dict[str, tuple[int, int]] = {}
    with Siege(plane, tmp_path) as siege:
        both = zip(deep_custom_objects(20).items(), deep_custom_objects(9900).items(), strict=True)
        for number, ((_, shallow), (title, deep)) in enumerate(both):
            kind = CUSTOM[number % len(CUSTOM)]
            plain = siege.create(shallow, kind, f"shallow-{number}")
            with siege.step(title):
                answer = siege.create(deep, kind, f"deep-{number}")
            statuses[title] = plain.status, answer.status

    withstood(siege)
    assert {title for title, (plain, deep) in statuses.items() if plain != deep} == set()
    assert {deep for _, deep in statuses.values()} == {HTTPStatus.CREATED, HTTPStatus.BAD_REQUEST}


def refused(answers: Mapping[str, Reply]) -> Iterator[str]:
    """What an API server takes, and did not."""
    for title, answer in answers.items():
        if answer.status not in (HTTPStatus.OK, HTTPStatus.CREATED):
            yield f"{title}: {answer.status}, {answer.body.get('message', '')[:300]}"


def test_wide_objects_of_every_kind(plane: ControlPlane, tmp_path: Path) -> None:
    with Siege(plane, tmp_path) as siege:
        for number, title in enumerate(WIDE | STORED if LONG else SOME_WIDE):
            attack = (WIDE | STORED)[title]
            chosen = attack.kinds[number % len(attack.kinds)]
            for kind in attack.kinds if LONG else (chosen,):
                if LONG or number % 2 == 0:
                    with siege.step(f"{kind}, {title}, created"):
                        siege.create(attack, kind, f"created-{number}")
                if LONG or number % 2 == 1:
                    with siege.step(f"{kind}, {title}, updated"):
                        siege.update(attack, kind, f"updated-{number}")

    withstood(siege)


def test_large_services(plane: ControlPlane, tmp_path: Path) -> None:
    """Each is watched, and would be held by every replica."""
    with Siege(plane, tmp_path) as siege:
        for number in range(LARGE):
            attack = Attack("spec/selector", pairs(MOST_STORED, prefix=f"{number}-"))
            with siege.step(f"Service {number} of 100 000 pairs"):
                siege.create(attack, "Service", f"large-{number}")
        with siege.another("late") as late:
            late.wait()
            most, held = peak(late.process.pid), memory(late.process.pid)

    print(f"a replica that started late: at most {most // MIB} MiB, holds {held // MIB} MiB")
    assert most < MOST_MEMORY, "a replica that starts has room for them too"
    assert held < MOST_HELD, "it keeps none of them"
    withstood(siege)


def test_many_services_of_some_size(plane: ControlPlane, tmp_path: Path) -> None:
    """None is large; together they are as much."""
    with Siege(plane, tmp_path) as siege, siege.step("Services of 1 500 pairs"):
        for number in range(SERVICES):
            attack = Attack("spec/selector", pairs(20_000, prefix=f"{number}-"))
            siege.create(attack, "Service", f"some-{number}")

    withstood(siege)


def test_many_services_that_select_each_pod(plane: ControlPlane, tmp_path: Path) -> None:
    """Each pod of the namespace is compared with all of them."""
    with Siege(plane, tmp_path) as siege, siege.step("Services for all pods, and a pod"):
        for number in range(SERVICES):
            siege.tenant.create(service(f"all-{number}", siege.namespace, {"app": "it"}))
        for number in range(10):
            siege.tenant.create(ordinary("Pod", siege.namespace, f"pod-{number}"))

    withstood(siege)


def test_many_selectors_of_some_size(plane: ControlPlane, tmp_path: Path) -> None:
    """
    Each pod is selected by other Services, so that its constraints are others.

    Nothing is stored of the pods: they are dry runs, which no quota counts.
    """
    groups = [{f"{group}-{key}": "" for key in range(PAIRS)} for group in range(GROUPS)]
    with Siege(plane, tmp_path) as siege:
        for number, selector in enumerate(groups):
            siege.tenant.create(service(f"group-{number}", siege.namespace, selector))
        with siege.step(f"{COMBINATIONS} pods with other selectors"):
            for combination in range(1, COMBINATIONS):
                pod = ordinary("Pod", siege.namespace, f"pod-{combination}")
                for number, selector in enumerate(groups):
                    if combination >> number & 1:
                        pod["metadata"]["labels"] |= selector
                siege.dry_run(pod)

    withstood(siege)


@pytest.mark.parametrize(
    ("config", "first"), [(CONFIG, 0), (RECOMMEND, 2)], ids=["apply", "recommend"]
)
def test_reviews_sent_to_a_replica(
    plane: ControlPlane, tmp_path: Path, config: str, first: int
) -> None:
    """Also such as no API server sends: both objects of 3 MiB, whole or broken."""
    troubles: list[str] = []
    with Siege(plane, tmp_path, config) as siege:
        for title, kind, hook, body in reviews(first):
            with siege.step(f"{title}, {kind}, {hook}, {len(body)} bytes"):
                answer = siege.send(hook, body)
            troubles += [
                f"{title}, {kind}, {hook}: {complaint}" for complaint in complaints(answer)
            ]

    withstood(siege, *troubles)


def reviews(first: int) -> Iterator[tuple[str, str, str, bytes]]:
    """
    Title, kind, hook and body; the bodies are too large to be there all at once.

    In the short form there is one of each attack: which one moves on from ``first``.
    """
    for number, (title, attack) in enumerate((ATTACKS | SMALL).items(), first):
        for kind in attack.kinds if LONG else (attack.kinds[number % len(attack.kinds)],):
            made = attack.body(kind, "default", "it")
            plain = json.dumps(ordinary(kind, "default", "it")).encode()
            olds = {"created": b"", "updated": plain, "unchanged": made}
            for turn, ((done, old), hook) in enumerate(product(olds.items(), HOOKS)):
                if LONG or turn == number % 6:
                    body = review(made, kind, "default", old=old)
                    yield f"{title}, {done}", kind, hook, body[:MOST_REVIEW]


def complaints(answer: Received) -> list[str]:
    """What an answer must not be."""
    found: list[str] = []
    if answer.status != 200 and not (400 <= answer.status < 500 and answer.body):
        found.append(f"status {answer.status}: {answer.body[:200]!r}")
    if len(answer.body) > LARGEST_ANSWER:
        found.append(f"an answer of {len(answer.body)} bytes")
    return found


def test_generated_objects(plane: ControlPlane, tmp_path: Path) -> None:
    """Random objects for SECONDS: created and updated in the cluster, and sent directly."""
    numbers = count()
    kinds, troubles = Counter[str](), list[str]()
    stored = deque[tuple[str, str]]()
    siege = besiege_ranks(plane, tmp_path)
    evaders = create_evaders(siege)
    with siege:
        end = time.monotonic() + SECONDS

        def write(chosen: Chosen) -> None:
            kind, attack = chosen
            number = next(numbers)
            act, verb = ((siege.create, "created"), (siege.update, "updated"))[number % 2]
            with siege.step(f"{kind}, {described(attack)}, {verb}"):
                reply = act(attack, kind, f"generated-{number}")
                if kind != "Pod":  # whose evasion is looked at in the end
                    stored.append((kind, f"generated-{number}"))
                if len(stored) > MOST_OBJECTS:
                    siege.remove(*stored.popleft())
            kinds[f"{verb}, {'stored' if reply.status in STORED_STATUSES else 'refused'}"] += 1

        def send(chosen: Chosen) -> None:
            kind, attack = chosen
            number = next(numbers)
            title = f"{kind}, {described(attack)}, sent"
            body = attack.body(kind, "default", "sent")
            old = json.dumps(ordinary(kind, "default", "sent")).encode() if number % 4 < 2 else b""
            whole = review(body, kind, "default", old=old)
            with siege.step(title):
                answer = siege.send(HOOKS[number % 2], whole[:MOST_REVIEW])
            kinds["sent directly"] += 1
            troubles.extend(f"{title}: {complaint}" for complaint in complaints(answer))

        for batch in count():
            if time.monotonic() > end:
                break
            seed(batch)(_generate(given(generated(MOST_CREATED) | listed(STORABLE))(write)))()
            seed(batch)(_generate(given(generated() | listed(ATTACKS))(send)))()
        evaders |= find_evaders(plane, siege.namespace)
        audited = find_audited(plane, siege.namespace, siege.called.config)
        reported = count_audited(siege)

    print(", ".join(f"{number} {what}" for what, number in sorted(kinds.items())))
    print(f"{len(evaders)} pods evaded defaulting; audits report {len(audited)} and {reported:.0f}")
    withstood(siege, *troubles)
    assert evaders <= audited, "each pod without its defaults is in the next audit"
    assert reported >= len(evaders), "and in the next audit of a server"


def create_evaders(siege: Siege) -> set[str]:
    """Create pods before the webhooks are registered: no replica gives them defaults."""
    siege.tenant.create(service("it", siege.namespace, {"app": "it"}))
    pods = [ordinary("Pod", siege.namespace, f"evader-{number}") for number in range(3)]
    return {siege.tenant.create(pod)["metadata"]["name"] for pod in pods}


def count_audited(siege: Siege) -> float:
    """The number of pods without their defaults in the first audit of a server that starts now."""
    head = {"name": "evenspread-audit", "namespace": siege.namespace}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": head}
    siege.plane.api.create(lease)
    settings = {"namespace": siege.namespace, "audit_interval": "1s", "audit_memory": "4096Mi"}
    with siege.another("auditor", **settings) as auditor:
        auditor.wait()
        until(lambda: auditor.metric("audits_total") > 0, "an audit", patience_s=AUDIT_PATIENCE_S)
        assert auditor.metric("audits_total", result="success") > 0, auditor.process.tail()
        assert peak(auditor.process.pid) < MOST_MEMORY
        return auditor.metric("findings", rule=RULE)


def described(attack: Attack) -> str:
    """Enough of an attack to make it again."""
    text = attack.text()
    return f"{attack.path}: {len(text)} bytes of {text[:60]!a}"


_generate = settings(
    max_examples=BATCH,
    phases=[Phase.generate],  # a replica that fell is not there to shrink an example with
    derandomize=False,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def test_commands_beside_deep_objects(
    plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other objects are judged; what cannot be read is named; nothing ends with a traceback."""
    namespace, kubeconfig = plane.create_namespace(), str(plane.apiserver.kubeconfig)
    for kind, depth in product(KINDS, DEPTHS):
        attack = Attack("metadata/managedFields", managed(depth))
        path = plane.api.collection_of(ordinary(kind, namespace, ""))
        answer = plane.api.request("POST", path, attack.body(kind, namespace, f"deep-{depth}"))
        assert answer.status == HTTPStatus.CREATED, answer
    plane.api.create(ordinary("Deployment", namespace, "plain"))

    at = ("-n", namespace, "--kubeconfig", kubeconfig)
    audited = main(["audit", *at, "-o", "json", "--fail-on", "never"])
    out, err = capsys.readouterr()
    assert (audited, "Traceback" in err, "bug" in err) == (0, False, False), err
    found = {(workload["kind"], workload["name"]) for workload in json.loads(out)["workloads"]}
    deep = {(kind, f"deep-{depth}") for kind in ("Deployment", "Pod") for depth in DEPTHS}
    assert {("Deployment", "plain"), *deep} <= found

    for depth in DEPTHS:
        explained = main(["explain", f"pod/deep-{depth}", *at])
        out, err = capsys.readouterr()
        assert explained in (0, 1), err
        assert "bug" not in err
