"""
What stands between a socket and a request: bounded, polite, and knowing nothing of Kubernetes.

``endpoint`` owns a port and its connections, which ``connections`` counts and chooses among when
there are too many; ``bodies`` reads what is sent, ``budget`` says how long that and the answer may
take, ``replies`` writes it, and ``drain`` ends it all without losing a call. ``limits`` holds every
bound with its unit and its reason. Two listeners are built of these: ``webhook.server``, which
answers admission reviews, and ``webhook.health``, which answers probes.
"""
