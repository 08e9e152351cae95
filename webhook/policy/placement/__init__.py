"""
Placement: the arithmetic of kube-scheduler's PodTopologySpread plugin, as pure functions.

To follow one pod through it, read the modules in this order:

1. ``spreads`` resolves the pod's constraints: defaults, merged selectors, feature gates.
2. ``topology`` divides the eligible nodes into domains; ``census`` indexes the running pods.
3. ``tallies`` counts the pods of each domain and derives the global minimum and the skew.
4. ``scoring`` applies hard constraints to nodes, and ranks the rest by soft constraints.
5. ``place`` runs these steps in the scheduler's order; this is the entry point.

``nodes`` and ``nodeaffinity`` say which nodes a cordon, taints and node affinity exclude. The
package ``filters`` runs all filters of the default profile, also those for resources, ports,
volumes and pod affinity. Nothing here validates constraints (see ``policy.api.rules``).
"""
