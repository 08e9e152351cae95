"""
Advice: the policy rules TSC101 to TSC121, which need facts of a cluster.

A rule is a pure function of a ``Subject`` (a workload, or a pod without a controller) and an
``AdviceContext`` (the policy, and the facts about the cluster). It yields a ``RuleViolation`` for
every problem: the field, the problem with the real values, and the YAML to write instead. A rule
knows nothing of ids, actions, exemptions or output.

``advise`` is the entry point. It runs the rules of the table in ``rules`` and sorts their findings
by the configured action. At admission only rules run that cost the same in a cluster of any size,
by ``Facts``; an audit also has a ``ClusterState`` of all nodes and pods, and runs every rule.

To add a rule, write the check in the module of its topic, a row in ``rules``, its texts in
``policy.catalogue``, its remedy in ``webhook.fix.remedies`` and an example for the reference. What
the API itself demands of a constraint is in ``policy.api.rules``: constraints that break it are
judged here without a fault, but the advice on them is of little use.
"""
