"""
Rebalance: the fewest evictions after which the constraints of workloads hold, as a pure function.

``plan.plan_rebalance`` is the entry point. What it assumes, and what it promises:

- **Constraints.** A constraint holds as in the audit's rule TSC114: the domain with most counted
  pods has at most maxSkew more than the global minimum, over the domains with eligible nodes; the
  global minimum is 0 with fewer domains than minDomains. For a soft constraint a domain counts only
  if pods can go there: by their demands and by cordons, as in the audit, and, while it has
  no counted pods, if a node of it passes all other filters. Constraints that do not count the pods
  that have them, and the System defaults of kube-scheduler, are no goals; the latter still rank
  nodes.
- **Evictions.** A pod is evicted and leaves; its controller creates a replacement with the same
  labels and specification, on no node yet; kube-scheduler places it; when it is ready, the next pod
  is evicted. The replacement must pass all filters without preemption: an eviction after which it
  would stay Pending is not planned. Volumes of claims remain, those of ephemeral volumes are new.
- **The choice of the scheduler.** Among the nodes that pass, any with the best score of
  PodTopologySpread may be chosen if the pod has constraints with ScheduleAnyway, else any at all:
  no other score is modelled. The number of evictions is that of the worst choices, under the best
  strategy, which plans again after each choice.
- **Goals that cannot all be reached.** Constraints are tried in this order: hard ones that hold,
  other hard ones, soft ones that hold, other soft ones. Each is kept that can be reached together
  with those before it. Evictions that only bring a constraint nearer are not planned.
- **Pods that stay.** Pods without a controller, of DaemonSets, Jobs and static manifests, and
  those that are being deleted; pods whose PodDisruptionBudget allows no disruption, or that have
  several. A pod that is not ready counts as healthy once it is replaced. Workloads of which a pod
  awaits a node are not planned: it may go anywhere in the meantime.
- **Room of pods that leave.** The resources of an evicted pod are free at once. While it is being
  deleted they are not, so that the scheduler chooses among fewer nodes, or waits: among those that
  a plan considers.

The modules, from the inside:

1. ``pods`` and ``budgets`` are the input; ``goals`` finds the constraints, ``opendomains`` the
   domains that count for soft ones.
2. ``kinds`` sorts pods that need not be told apart, ``cells`` does so with nodes. The number of
   pods of each kind in each cell is a state of the search.
3. ``counts`` and ``bounds`` compile constraints to functions of a state, ``model`` has the
   evictions of a state and the states after them, ``openings`` the domains that count in it;
   ``compilation`` builds all this for some pods.
4. ``search`` defines strategies. ``paths`` finds one without going back, ``exhaustive`` and
   ``deepening`` the shortest one; ``solution`` decides which goals are reached.
5. ``replay`` turns a strategy into steps, and places each replacement again by all filters.
6. ``components`` divides the workloads into sets that are planned apart; ``plan`` joins the
   results.
"""
