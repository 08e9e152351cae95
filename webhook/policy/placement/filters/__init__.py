"""
The filters of kube-scheduler's default profile, as pure functions.

To follow one pod through them, read the modules in this order:

1. ``filterpods`` and ``cluster`` are the input; ``placedpods`` counts what pods take on each node.
2. ``nodefilters``, ``volumefilters``, ``volumebinding`` and ``podaffinity`` have a function for
   each filter: it prepares the filter for a pod, and returns the check of a node.
3. ``run`` prepares and runs them in the scheduler's order; this is the entry point.
4. ``failure`` puts the result into the sentence of the event FailedScheduling, and ``unmodelled``
   names what no filter here considers.

Objects of the API are read in ``cluster.scheduling``.
"""
