"""
Where a pod can go, and why: the arithmetic of kube-scheduler's PodTopologySpread plugin.

``spreads`` says what a pod asks for, ``topology`` and ``census`` what there is, ``tallies`` counts
the one by the other, ``filtering`` and ``scoring`` judge the counts, and ``place`` asks them in the
scheduler's order. Whether other plugins would refuse a node is told by ``nodes``, from ``taints``
and ``nodeaffinity``.
"""
