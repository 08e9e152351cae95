"""
A plan of evictions as a script for a POSIX shell: ``format_script``.

kubectl has no command that evicts one pod: ``kubectl create --raw`` posts to the eviction API. The
script stops at the first command that fails, such as an eviction that a PodDisruptionBudget
refuses. ``set -e`` does not notice a command that fails in the condition of a loop, so that none is
called there. It cannot plan again, so it ends before a pod that only the plan has created, and at a
pod that has been replaced since the plan.

``kubectl rollout status`` refuses StatefulSets with the strategy OnDelete. The replacement of a
StatefulSet has the name of the pod, so the script waits for this pod instead.
"""

from collections.abc import Iterator
from shlex import quote

from webhook.cli.views.rebalance import SHOWN_CANDIDATES, find_refusals
from webhook.policy.advice.findings import count_of
from webhook.policy.escape import printable
from webhook.policy.kinds import DEPLOYMENT, STATEFUL_SET
from webhook.rebalance.plan import RebalancePlan
from webhook.rebalance.replay import EvictionStep

READY_TIMEOUT = "10m"  # for a replacement, as kubectl writes it

_HEAD = """\
#!/bin/sh
# Written by evenspread rebalance: {number}, one after another. It does not plan again.
set -eu

uid_of() {{ # namespace, pod
  kubectl get pod "$2" -n "$1" --ignore-not-found -o 'jsonpath={{.metadata.uid}}'
}}

evict() {{ # namespace, pod, uid in the plan if known; waits until the pod is gone
  echo "evicting $1/$2"
  uid=$(uid_of "$1" "$2")
  if [ -n "${{3:-}}" ] && [ "$uid" != "$3" ]; then
    echo "$1/$2 has been deleted or replaced since the plan: plan again" >&2
    exit 1
  fi
  kubectl create --raw "/api/v1/namespaces/$1/pods/$2/eviction" -f - >/dev/null <<END
{{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {{"namespace": "$1", "name": "$2"}},
 "deleteOptions": {{"preconditions": {{"uid": "$uid"}}}}}}
END
  present=$(uid_of "$1" "$2")
  while [ "$present" = "$uid" ]; do
    sleep 1
    present=$(uid_of "$1" "$2")
  done
}}

wait_for() {{ # namespace, pod; waits until the StatefulSet has created the pod, and it is ready
  present=$(uid_of "$1" "$2")
  while [ -z "$present" ]; do
    sleep 1
    present=$(uid_of "$1" "$2")
  done
  kubectl wait --for=condition=Ready "pod/$2" -n "$1" --timeout={timeout}
}}
"""


def format_script(plan: RebalancePlan) -> str:
    """Format the evictions as a script; without any, it does nothing."""
    steps = list(_list_known(plan))
    lines = [_HEAD.format(number=count_of(len(steps), "eviction"), timeout=READY_TIMEOUT)]
    lines += [printable(f"# {line}\n") for line in find_refusals(plan)]
    for index, step in enumerate(steps, 1):
        lines += _format_step(step, is_last=index == len(steps))
    if len(steps) < len(plan.steps):
        lines.append("# Plan again: the pods that are to be evicted next do not exist yet.\n")
    return "\n".join(lines)


def _list_known(plan: RebalancePlan) -> Iterator[EvictionStep]:
    """Yield the steps before a pod is evicted again, whose name is not known."""
    evicted = set[tuple[str, str]]()
    for step in plan.steps:
        if (step.namespace, step.pod) in evicted:
            return
        evicted.add((step.namespace, step.pod))
        yield step


def _format_step(step: EvictionStep, *, is_last: bool) -> Iterator[str]:
    namespace, pod = quote(step.namespace), quote(step.pod)
    others = " or others" if len(step.candidates) > SHOWN_CANDIDATES else ""
    nodes = f"{' or '.join(step.candidates[:SHOWN_CANDIDATES])}{others}"
    assumes = (
        "" if is_last or len(step.candidates) == 1 else f"; the next steps assume {step.target}"
    )
    yield printable(f"# {step.workload}, from {step.node} to {nodes}{assumes}")
    yield " ".join(filter(None, ("evict", namespace, pod, step.uid and quote(step.uid))))
    kind, _, name = step.workload.partition("/")
    if kind == DEPLOYMENT.kind:
        target = quote(f"{kind.lower()}/{name}")
        yield f"kubectl rollout status {target} -n {namespace} --timeout={READY_TIMEOUT}\n"
    elif kind == STATEFUL_SET.kind:
        yield f"wait_for {namespace} {pod}\n"
    else:
        yield 'printf "wait until its replacement is ready, then press Enter: "; read -r _\n'
