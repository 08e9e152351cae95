"""
Ranks that keep the spread of a workload when it is scaled down.

A pod gets a rank among the pods of its controller in its topology domain when it is bound. The
higher its rank, the lower its deletion cost, so that the controller removes pods from all domains
evenly. ``domain`` chooses the domains, ``ranks`` turns ranks into costs.
"""
