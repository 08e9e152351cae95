"""
What kube-apiserver demands of ``topologySpreadConstraints``, in its own words.

``rules`` holds the rules, ``gates`` the feature gates of each version, and ``apiserver`` the answer
of a whole API server, with its quirks. Facts of a cluster have no place here.
"""
