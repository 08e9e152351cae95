"""
Why a pod can or cannot be placed, what would let it, and what would be if the cluster were another.

``situation`` is the question: a pod, nodes, other pods. ``edits`` make another question of it,
``changes`` look for the smallest that lets the pod be placed, ``rollout`` places the replicas of a
workload one after another, and ``explanation`` tells it all as a value. Each of them asks
``webhook.policy.placement`` again; none of them calculates on its own.
"""
