"""Specifications that kube-apiserver refuses or accepts, as tests/e2e/test_fields.py shows."""

from typing import Any, NamedTuple

from webhook.policy.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from webhook.policy.model import GroupKind

Json = dict[str, Any]


class RefusedSpec(NamedTuple):
    """
    One specification and its errors.

    Attributes:
        spec: Members beside those of a valid one.
        errors: Field and message of each error; the message ends with what to write.
    """

    kind: GroupKind
    spec: Json
    errors: list[tuple[str, str]]


def rolling(**limits: Any) -> Json:
    return {"strategy": {"rollingUpdate": limits}}


def updating(**members: Any) -> Json:
    return {"updateStrategy": {"rollingUpdate": members}}


def selecting(selector: Any, labels: Any) -> Json:
    return {"selector": selector, "template": {"metadata": {"labels": labels}}}


ROLLING = "spec.strategy.rollingUpdate."
UPDATE = "spec.updateStrategy."
NOT_NEGATIVE = "must be greater than or equal to 0: write 0 or more"
NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%'): "
)
TOO_LARGE = 'must not be greater than 100%: write at most "100%"'
DAEMON_UNAVAILABLE = (
    f"{UPDATE}rollingUpdate.maxUnavailable",
    "Required value: cannot be 0 when maxSurge is 0: write 1, or maxSurge: 1",
)
DAEMON_SURGE = f"{UPDATE}rollingUpdate.maxSurge"
BOTH = "may not be set when maxUnavailable is non-zero: write 0, or maxUnavailable: 0"

STRATEGIES: dict[str, RefusedSpec] = {
    "limits of Recreate": RefusedSpec(
        DEPLOYMENT, {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
        [(
            ROLLING[:-1],
            "Forbidden: may not be specified when strategy `type` is 'Recreate': remove it",
        )],
    ),
    "a percentage without its sign": RefusedSpec(
        DEPLOYMENT, rolling(maxSurge="25"),
        [(f"{ROLLING}maxSurge", f'Invalid value: "25": {NO_PERCENT}write 25 or "25%"')],
    ),
    "a percentage without its sign is not 0": RefusedSpec(
        DEPLOYMENT, rolling(maxSurge=0, maxUnavailable="25"),
        [(f"{ROLLING}maxUnavailable", f'Invalid value: "25": {NO_PERCENT}write 25 or "25%"')],
    ),
    "more than all": RefusedSpec(
        DEPLOYMENT, rolling(maxUnavailable="150%"),
        [(f"{ROLLING}maxUnavailable", f'Invalid value: "150%": {TOO_LARGE}')],
    ),
    "no pod may be moved": RefusedSpec(
        DEPLOYMENT, rolling(maxSurge=0, maxUnavailable="0%"),
        [(
            f"{ROLLING}maxUnavailable",
            'Invalid value: "0%": may not be 0 when `maxSurge` is 0: write 1, or maxSurge: 1',
        )],
    ),
    "a negative partition": RefusedSpec(
        STATEFUL_SET, updating(partition=-1),
        [(f"{UPDATE}rollingUpdate.partition", f"Invalid value: -1: {NOT_NEGATIVE}")],
    ),
    "a surge alone": RefusedSpec(
        DAEMON_SET, updating(maxSurge=1),
        [(DAEMON_SURGE, f"Invalid value: 1: {BOTH} (1 if omitted)")],
    ),
    "a surge and its counterpart": RefusedSpec(
        DAEMON_SET, updating(maxSurge="10%", maxUnavailable=1),
        [(DAEMON_SURGE, f'Invalid value: "10%": {BOTH}')],
    ),
    "neither of both": RefusedSpec(
        DAEMON_SET, updating(maxSurge=0, maxUnavailable=0), [DAEMON_UNAVAILABLE]
    ),
    "no unavailable pod": RefusedSpec(
        DAEMON_SET, updating(maxUnavailable="0%"), [DAEMON_UNAVAILABLE]
    ),
    "more than all pods of a DaemonSet": RefusedSpec(
        DAEMON_SET, updating(maxUnavailable="120%"),
        [(f"{UPDATE}rollingUpdate.maxUnavailable", f'Invalid value: "120%": {TOO_LARGE}')],
    ),
    "a surge of more than all": RefusedSpec(
        DAEMON_SET, updating(maxUnavailable=0, maxSurge="120%"),
        [(DAEMON_SURGE, f'Invalid value: "120%": {TOO_LARGE}')],
    ),
    "a limit that is no number": RefusedSpec(
        DAEMON_SET, updating(maxUnavailable="all"),
        [
            (
                f"{UPDATE}rollingUpdate.maxUnavailable",
                f'Invalid value: "all": {NO_PERCENT}write 1 or "25%"',
            ),
            DAEMON_UNAVAILABLE,
        ],
    ),
}  # fmt: skip

UNKNOWN_TYPES: dict[str, RefusedSpec] = {
    "a Deployment": RefusedSpec(
        DEPLOYMENT, {"strategy": {"type": "Foo"}},
        [(
            "spec.strategy.type",
            'Unsupported value: "Foo": supported values: "Recreate", "RollingUpdate"',
        )],
    ),
    "a StatefulSet": RefusedSpec(
        STATEFUL_SET, {"updateStrategy": {"type": "Foo"}},
        [(
            f"{UPDATE}type",
            'Unsupported value: "Foo": supported values: "RollingUpdate", "OnDelete"',
        )],
    ),
    "a DaemonSet": RefusedSpec(
        DAEMON_SET, {"updateStrategy": {"type": "Recreate"}},
        [(
            f"{UPDATE}type",
            'Unsupported value: "Recreate": supported values: "RollingUpdate", "OnDelete"',
        )],
    ),
}  # fmt: skip
"""kube-apiserver reports the whole strategy, as a value of Go."""

NUMBERS: dict[str, RefusedSpec] = {
    "a negative number": RefusedSpec(
        DEPLOYMENT, {"replicas": -3}, [("spec.replicas", f"Invalid value: -3: {NOT_NEGATIVE}")]
    ),
    "the first ordinal": RefusedSpec(
        STATEFUL_SET, {"ordinals": {"start": -1}},
        [("spec.ordinals.start", f"Invalid value: -1: {NOT_NEGATIVE}")],
    ),
    "a policy in lower case": RefusedSpec(
        STATEFUL_SET, {"podManagementPolicy": "parallel"},
        [(
            "spec.podManagementPolicy",
            ("Invalid value: \"parallel\": must be 'OrderedReady' or 'Parallel': "
            "write OrderedReady, or remove it"),
        )],
    ),
}  # fmt: skip

INDEXED = {"completionMode": "Indexed"}

JOBS: dict[str, RefusedSpec] = {
    f"a negative {name}": RefusedSpec(
        JOB, {name: -2}, [(f"spec.{name}", f"Invalid value: -2: {NOT_NEGATIVE}")]
    )
    for name in ("parallelism", "completions", "backoffLimit")
} | {
    "an unknown mode": RefusedSpec(
        JOB, {"completionMode": "indexed"},
        [(
            "spec.completionMode",
            'Unsupported value: "indexed": supported values: "NonIndexed", "Indexed"',
        )],
    ),
    "an empty mode": RefusedSpec(
        JOB, {"completionMode": ""},
        [(
            "spec.completionMode",
            'Unsupported value: "": supported values: "NonIndexed", "Indexed"',
        )],
    ),
    "no completions": RefusedSpec(
        JOB, {**INDEXED, "parallelism": 3},
        [(
            "spec.completions",
            ("Required value: when completion mode is Indexed: "
            "write the number of indexes, such as 3"),
        )],
    ),
    "too many pods": RefusedSpec(
        JOB, {**INDEXED, "parallelism": 100_001, "completions": 5},
        [(
            "spec.parallelism",
            ("Invalid value: 100001: must be less than or equal to 100000 when completion mode is "
            "Indexed: write at most 100000"),
        )],
    ),
    "too many pods for many completions": RefusedSpec(
        JOB,
        {
            **INDEXED, "parallelism": 10_001, "completions": 100_001, "backoffLimitPerIndex": 1,
            "maxFailedIndexes": 1,
        },
        [(
            "spec.parallelism",
            ("Invalid value: 10001: must be less than or equal to 10000 when completions are above "
            "100000 and used with backoff limit per index: write at most 10000"),
        )],
    ),
    "a backoff per index without indexes": RefusedSpec(
        JOB, {"backoffLimitPerIndex": 2},
        [(
            "spec.backoffLimitPerIndex",
            ("Invalid value: 2: requires indexed completion mode: "
            "write completionMode: Indexed, or remove it"),
        )],
    ),
}  # fmt: skip

NO_MATCH = "`selector` does not match template `labels`: "
OTHER = {"matchLabels": {"app": "nope"}}
MISSING = ("spec.selector", "Required value: write labels of the template as its matchLabels")


def unmatched(advice: str, labels: str = '{"app":"web","tier":"a"}') -> tuple[str, str]:
    return ("spec.template.metadata.labels", f"Invalid value: {labels}: {NO_MATCH}{advice}")


LABELS = {"tier": "a", "app": "web"}
SUCH_AS = "write labels that spec.selector selects, such as app: nope"

SELECTORS: dict[str, RefusedSpec] = {
    f"other labels of a {kind.kind}": RefusedSpec(
        kind, selecting(OTHER, LABELS), [unmatched(SUCH_AS)]
    )
    for kind in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET)
} | {
    f"no selector of a {kind.kind}": RefusedSpec(
        kind, selecting(None, LABELS), [MISSING, unmatched("write spec.selector")]
    )
    for kind in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET)
} | {
    f"an empty selector of a {kind.kind}": RefusedSpec(
        kind, selecting({"matchLabels": {}}, LABELS),
        [(
            "spec.selector",
            (f"Invalid value: {{}}: empty selector is invalid for {name}: "
            "write labels of the template as its matchLabels"),
        )],
    )
    for kind, name in (
        (DEPLOYMENT, "deployment"), (REPLICA_SET, "deployment"), (STATEFUL_SET, "statefulset"),
        (DAEMON_SET, "daemonset"),
    )
} | {
    "no selector of a DaemonSet": RefusedSpec(
        DAEMON_SET, selecting(None, LABELS), [unmatched("write spec.selector")]
    ),
    "other labels of a ReplicationController": RefusedSpec(
        REPLICATION_CONTROLLER, selecting({"app": "nope"}, LABELS), [unmatched(SUCH_AS)]
    ),
    "neither a selector nor labels": RefusedSpec(
        REPLICATION_CONTROLLER, selecting(None, None), [MISSING]
    ),
    "no labels": RefusedSpec(DEPLOYMENT, selecting(OTHER, None), [unmatched(SUCH_AS, "null")]),
    "empty labels": RefusedSpec(DEPLOYMENT, selecting(OTHER, {}), [unmatched(SUCH_AS, "{}")]),
    "an expression": RefusedSpec(
        DEPLOYMENT,
        selecting({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, LABELS),
        [unmatched("write labels that spec.selector selects")],
    ),
}  # fmt: skip

INVALID_SELECTOR: Json = selecting(
    {"matchExpressions": [{"key": "app", "operator": "in", "values": ["web"]}]}, LABELS
)

ACCEPTED_STRATEGIES: dict[str, tuple[GroupKind, Json]] = {
    "a surge instead": (DAEMON_SET, updating(maxSurge="100%", maxUnavailable=0)),
    "the defaults": (DAEMON_SET, {"updateStrategy": {"type": "RollingUpdate"}}),
    "no surge": (DAEMON_SET, updating(maxSurge=0)),
    "an empty type": (DAEMON_SET, {"updateStrategy": {"type": "", "rollingUpdate": None}}),
    "limits of OnDelete": (
        DAEMON_SET,
        {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"maxSurge": 1}}},
    ),
    "a large surge": (DEPLOYMENT, rolling(maxSurge="150%", maxUnavailable=0)),
    "no surge of a Deployment": (DEPLOYMENT, rolling(maxSurge=0)),
    "Recreate": (DEPLOYMENT, {"strategy": {"type": "Recreate"}}),
    "OnDelete": (STATEFUL_SET, {"updateStrategy": {"type": "OnDelete"}}),
    "a partition": (STATEFUL_SET, updating(partition=2, maxUnavailable="50%")),
    "an empty type of a StatefulSet": (STATEFUL_SET, {"updateStrategy": {"type": ""}}),
}

ACCEPTED_JOBS: dict[str, tuple[GroupKind, Json]] = {
    "one index, as both are omitted": (JOB, {**INDEXED}),
    "as many pods as possible": (JOB, {**INDEXED, "parallelism": 100_000, "completions": 100_000}),
    "many completions": (JOB, {**INDEXED, "parallelism": 20_000, "completions": 200_000}),
    "a backoff per index of many completions": (
        JOB,
        {**INDEXED, "parallelism": 20_000, "completions": 100_000, "backoffLimitPerIndex": 1},
    ),
    "a backoff per index of more completions": (
        JOB,
        {
            **INDEXED,
            "parallelism": 10_000,
            "completions": 100_001,
            "backoffLimitPerIndex": 1,
            "maxFailedIndexes": 5,
        },
    ),
    "no pods": (JOB, {"parallelism": 0, "completions": 0, "backoffLimit": 0}),
    "no mode": (JOB, {"completionMode": None, "parallelism": 200_000}),
    "a backoff per index": (JOB, {**INDEXED, "completions": 3, "backoffLimitPerIndex": 1}),
}

ACCEPTED_SELECTORS: dict[str, tuple[GroupKind, Json]] = {
    "some labels": (DEPLOYMENT, selecting({"matchLabels": {"app": "web"}}, LABELS)),
    "an expression": (
        STATEFUL_SET,
        selecting({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, LABELS),
    ),
    "no label": (
        DAEMON_SET,
        selecting({"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}, None),
    ),
    "the labels of a ReplicationController": (REPLICATION_CONTROLLER, selecting(None, LABELS)),
    "an empty map": (REPLICATION_CONTROLLER, selecting({}, LABELS)),
    "a Job": (JOB, {}),
}
