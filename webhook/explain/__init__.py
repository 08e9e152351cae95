"""
Explain why a pod can or cannot be placed, what would let it, and what another cluster changes.

``explanation.explain`` and ``rollout.roll_out`` are the entry points. A ``Scenario`` is the
question: a pod, nodes and other pods. Its edits and ``nodeedits`` turn it into another one,
``remedies`` and ``nodeadditions`` propose edits, and ``changes`` finds the smallest ones that work.
Every answer comes from ``webhook.policy.placement``; nothing here counts or filters on its own.
"""
