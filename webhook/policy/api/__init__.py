"""
kube-apiserver's validation of ``topologySpreadConstraints``, with its messages.

``rules`` contains the rules, ``gates`` the feature gates of each version, and ``predict``
predicts the response of a whole API server. Nothing here depends on facts of a cluster.
"""
