"""The status of SpreadPolicies is written when it changes, and at most once a minute."""

from collections import defaultdict
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apiserver import Fault, Json, Request, refuse, respond
from tests.build import policy
from tests.server.statuses import PLACE, StatusRun
from webhook.cluster.protocol import Response
from webhook.policy.defaulting.policystatus import PolicyCounts
from webhook.policy.defaulting.profiles import Mode, Profile
from webhook.server.policystatus import PERIOD_S

BROKEN: Json = {"defaultConstraints": [{"maxSkew": 0}]}
IN_FORCE = {"Accepted": ("True", "Valid"), "Effective": ("True", "InForce")}


async def test_a_new_policy_gets_its_status_at_once() -> None:
    run = StatusRun()
    run.put("web", match={"namespaceSelector": {"matchLabels": {"tier": "prod"}}})

    await run.run(300)

    assert run.written == [(0, "web")]
    assert run.conditions("web") == IN_FORCE
    status = run.status("web")
    assert (status["observedGeneration"], status["matchedNamespaces"]) == (1, 1)
    assert "podsWithDefaults" not in status
    assert run.count("success") == 1


async def test_a_write_has_preconditions() -> None:
    run = StatusRun()
    run.put("web")
    before = dict(run.server.objects[f"{PLACE}/web"]["metadata"])

    await run.run(1)

    (write,) = run.server.writes
    assert (write.method, write.path) == ("PATCH", f"{PLACE}/web/status")
    assert write.content_type == "application/merge-patch+json"
    expected = {name: before[name] for name in ("uid", "resourceVersion")}
    assert write.content["metadata"] == expected
    assert write.content["status"]["podsWithDefaults"] is None


async def test_a_change_is_written_once_the_minute_is_over() -> None:
    run = StatusRun()
    run.put("web")
    run.later = [(second, lambda: run.put("web")) for second in (5.0, 10.0, 200.0)]

    await run.run(300)

    assert run.written == [(0, "web"), (60, "web"), (200, "web")]
    assert run.status("web")["observedGeneration"] == 4


async def test_an_invalid_version_is_reported_and_the_one_before_it_stays() -> None:
    run = StatusRun()
    run.put("web")
    run.later = [(100.0, lambda: run.put("web", **BROKEN)), (300.0, lambda: run.put("web"))]

    await run.run(200)
    assert run.conditions("web") == {
        "Accepted": ("False", "Invalid"),
        "Effective": ("True", "InForce"),
    }
    accepted, effective = run.status("web")["conditions"]
    assert "the version before it stays in force" in accepted["message"]
    assert accepted["lastTransitionTime"] == "2026-03-01T12:01:40Z"
    assert effective["lastTransitionTime"] == "2026-03-01T12:00:00Z"

    await run.run(200)
    assert run.conditions("web") == IN_FORCE


async def test_policies_without_effect() -> None:
    run = StatusRun(Profile(name="of-file", owner_kinds=frozenset({"Job"})))
    run.put("of-file")
    run.put("first", order=-1)
    run.put("second")
    run.put("broken", **BROKEN)

    await run.run(5)

    assert {
        name: run.conditions(name)["Effective"] for name in ("of-file", "second", "broken")
    } == {
        "of-file": ("False", "NameTaken"),
        "second": ("False", "EarlierProfileApplies"),
        "broken": ("False", "NotAccepted"),
    }
    assert "matchedNamespaces" not in run.status("of-file")


async def test_the_mode_of_the_configuration() -> None:
    run = StatusRun()
    run.put("web")
    run.later = [(100.0, lambda: setattr(run, "policy", policy(mode=Mode.RECOMMEND)))]

    await run.run(200)

    assert run.written == [(0, "web"), (100, "web")]
    assert run.conditions("web")["Effective"] == ("True", "Recommends")


async def test_namespaces_are_counted_once_they_are_known_and_then_each_minute() -> None:
    run = StatusRun()
    run.namespaces = None
    run.put("web")
    run.later = [
        (3.0, lambda: setattr(run, "namespaces", {"a": {}})),
        (70.0, lambda: setattr(run, "namespaces", {"a": {}, "b": {}})),
        (400.0, lambda: setattr(run, "namespaces", None)),
    ]

    await run.run(61)
    assert run.status("web")["matchedNamespaces"] == 1
    await run.run(200)
    assert run.status("web")["matchedNamespaces"] == 2
    await run.run(200)
    assert "matchedNamespaces" not in run.status("web")


async def test_counts_of_audits_are_written() -> None:
    run = StatusRun(audits=True)
    run.put("web")
    run.put("new")
    run.later = [(80.0, lambda: run.writer.use_counts({"web": PolicyCounts(12, 1, 0)}))]

    await run.run(100)

    numbers = ("podsWithDefaults", "unevenWorkloads", "pendingPods")
    assert [run.status("web")[name] for name in numbers] == [12, 1, 0]
    assert not run.status("new").keys() & set(numbers)
    assert run.written == [(0, "web"), (0, "new"), (80, "web")]


async def test_another_leader_keeps_counts_until_its_first_audit_and_waits_a_minute() -> None:
    run = StatusRun(audits=True)
    run.put("web")
    run.later = [(10.0, lambda: run.writer.use_counts({"web": PolicyCounts(12, 1, 0)}))]
    await run.run(65)
    assert run.written == [(0, "web"), (60, "web")]
    run.put("web")

    led_since = run.now
    await run.run(100)

    assert run.written[2:] == [(led_since + PERIOD_S, "web")]
    assert run.status("web")["podsWithDefaults"] == 12


async def test_without_audits_old_counts_are_removed() -> None:
    run = StatusRun()
    run.put("web")
    run.server.objects[f"{PLACE}/web"]["status"] = {
        "conditions": [{"type": "Accepted", "status": "True"}],
        "podsWithDefaults": 4,
    }

    await run.run(100)

    assert run.written == [(PERIOD_S, "web")]
    assert "podsWithDefaults" not in run.status("web")


async def test_a_status_that_cannot_be_read_is_replaced() -> None:
    run = StatusRun()
    run.put("web")
    run.server.objects[f"{PLACE}/web"]["status"] = {"conditions": "none"}

    await run.run(5)

    assert run.conditions("web") == IN_FORCE


async def test_conditions_of_other_clients_stay() -> None:
    run = StatusRun()
    run.put("web")
    synced = {"type": "Synced", "status": "True", "reason": "Synced", "message": ""}
    run.server.objects[f"{PLACE}/web"]["status"] = {"conditions": [synced]}

    await run.run(5)

    assert run.conditions("web") == {"Synced": ("True", "Synced"), **IN_FORCE}


async def test_a_definition_that_drops_fields_is_no_reason_to_write_again() -> None:
    run = StatusRun()
    run.put("web")

    def prune(request: Request) -> Any:
        if not request.path.endswith("/status"):
            return None
        path = request.path.removesuffix("/status")
        status = {
            name: value
            for name, value in request.content["status"].items()
            if value is not None and name in ("conditions", "observedGeneration")
        }
        return respond(run.server.put(path, {**run.server.objects[path], "status": status}))

    run.server.faults = [prune]
    await run.run(300)

    assert run.written == [(0, "web")]


async def test_a_change_by_another_client_is_a_conflict_and_the_next_round_writes() -> None:
    run = StatusRun()
    run.put("web")
    run.show()
    run.is_cut_off = True
    run.put("web")
    run.later = [(3.0, lambda: setattr(run, "is_cut_off", False))]

    await run.run(100)

    assert (run.count("conflict"), run.count("success")) == (3, 1)
    assert run.status("web")["observedGeneration"] == 2
    assert run.messages == []


async def test_a_conflict_keeps_the_time_of_the_last_write() -> None:
    run = StatusRun()
    run.put("web")
    conflict = refuse("the object has been modified", 409)
    run.later = [
        (5.0, lambda: run.server.faults.append(lambda _: conflict)),
        (65.0, lambda: run.put("web")),
        (70.0, run.server.faults.clear),
    ]

    await run.run(120)

    assert run.status("web")["observedGeneration"] == 2
    assert (run.count("conflict"), run.written[-1]) == (5, (70, "web"))


async def test_a_missing_right_is_said_once_and_tried_each_minute() -> None:
    run = StatusRun()
    run.put("web")
    run.put("db")
    forbidden = refuse("spreadpolicies.evenspread.io is forbidden", 403)
    run.server.faults = [lambda _: forbidden]
    run.later = [(200.0, run.server.faults.clear)]

    await run.run(180)

    assert run.written == [(0, "web"), (60, "db"), (120, "web"), (180, "db")]
    assert run.count("failure") == 4
    (message,) = run.messages
    assert message.startswith("the status of SpreadPolicies cannot be written: ")
    assert message.endswith("allow patch of spreadpolicies/status, as the chart does")

    await run.run(200)
    assert (
        run.conditions("web")["Accepted"] == run.conditions("db")["Accepted"] == ("True", "Valid")
    )
    assert len(run.messages) == 1


async def test_after_a_success_a_failure_is_said_again() -> None:
    run = StatusRun()
    run.put("web")

    def refuse_all(_: Request) -> Response:
        return refuse("no", 422)

    run.server.faults.append(refuse_all)
    run.later = [
        (30.0, run.server.faults.clear),
        (100.0, lambda: run.server.faults.append(refuse_all)),
        (101.0, lambda: run.put("web")),
    ]

    await run.run(200)

    assert len(run.messages) == 2


async def test_a_policy_that_was_deleted_is_no_failure_to_report() -> None:
    run = StatusRun()
    run.put("web")
    run.show()
    run.is_cut_off = True
    run.delete("web")
    run.later = [(30.0, lambda: setattr(run, "is_cut_off", False))]

    await run.run(200)

    assert run.messages == []
    assert len(run.written) == 1


async def test_a_definition_without_the_subresource_is_said_once() -> None:
    run = StatusRun()
    run.put("web")
    missing = refuse("the server could not find the requested resource", 404)
    run.server.faults = [lambda _: missing]

    await run.run(200)

    (message,) = run.messages
    assert message.endswith("; install the CustomResourceDefinition of this version")


@pytest.mark.parametrize(
    ("answer", "pause"),
    [(refuse("busy", 503), 5), (refuse("busy", 429), 5), (Fault.RESET, 5)],
)
async def test_a_busy_api_server_is_left_alone(answer: Any, pause: float) -> None:
    run = StatusRun()
    for name in "abc":
        run.put(name)
    run.server.faults = [lambda _: answer]

    await run.run(pause + 0.5)

    assert [time for time, _ in run.written] == [0, pause]


async def test_without_policies_nothing_is_done() -> None:
    run = StatusRun()
    assert not run.writer.is_needed

    await run.run(10)

    assert run.server.requests == []
    run.put("web")
    run.show()
    assert run.writer.is_needed


async def test_an_object_without_a_uid_has_no_status() -> None:
    run = StatusRun()
    run.put("web")
    del run.server.objects[f"{PLACE}/web"]["metadata"]["uid"]

    await run.run(10)

    assert run.written == []


async def test_another_object_of_the_same_name_has_a_status_at_once() -> None:
    run = StatusRun()
    run.put("web")
    run.later = [(10.0, lambda: run.delete("web")), (12.0, lambda: run.put("web"))]

    await run.run(20)

    assert run.written == [(0, "web"), (12, "web")]


changes = st.lists(
    st.tuples(
        st.floats(0, 400),
        st.sampled_from(["a", "b"]),
        st.sampled_from([{}, {"order": 1}, BROKEN, {"merge": "PerTopologyKey"}, None]),
    ),
    max_size=12,
)


@given(changes)
async def test_random_changes(made: list[tuple[float, str, Any]]) -> None:
    """No policy is written twice within a minute, and in the end every status is right."""
    run = StatusRun()

    def change(name: str, spec: Any) -> None:
        if spec is not None:
            run.put(name, **spec)
        elif f"{PLACE}/{name}" in run.server.objects:
            run.delete(name)

    for at, name, spec in sorted(made, key=lambda one: one[0]):
        run.later.append((at, partial(change, name, spec)))

    await run.run(600)

    times = defaultdict[str, list[float]](list)
    for write, (at, _) in zip(run.server.writes, run.written, strict=True):
        times[write.content["metadata"]["uid"]].append(at)
    for of_policy in times.values():
        assert all(after - before >= PERIOD_S for before, after in pairwise(of_policy))
    for path, obj in run.server.objects.items():
        conditions = run.conditions(path.rpartition("/")[2])
        is_valid = obj["spec"].get("defaultConstraints") == []
        assert conditions["Accepted"][0] == str(is_valid)
        assert obj["status"]["observedGeneration"] == obj["metadata"]["generation"]
