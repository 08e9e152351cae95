"""
Advice: the policy rules that need facts of a cluster, TSC101 to TSC115.

A rule is a small pure function of a ``Subject`` (a workload, or a pod that nobody controls) and of
the ``Grounds`` to judge it on. It yields a ``Remark`` for everything that is wrong: the field, what
is wrong with the real values in it, and the YAML to write instead. It knows nothing of ids,
actions, exemptions or output. ``rows`` is the table that gives each rule its id, its words and its
place: an admission asks only what costs the same in a cluster of any size, by ``Facts``; an audit
has a ``Survey`` of all nodes and pods besides, and asks everything. ``advise`` is the one function
to call: it asks the rows, and sorts what they say by what is to be done about it.

What the API itself demands of a constraint is in ``policy.rules``; constraints that break it are
judged here too, without a fault, but what is said of them is worth little.
"""
