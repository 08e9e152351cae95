"""
HTTP between a socket and a request: bounded, polite, and without knowledge of Kubernetes.

``endpoint`` owns a port and its connections, which ``connections`` counts and chooses among when
there are too many; ``body`` reads what is sent, ``budget`` says how long that and the answer may
take, ``responses`` writes it, and ``drain`` ends it all without losing a call. ``limits`` holds
every bound with its unit and its reason. Two listeners are built from these: ``server.admission``,
which answers admission reviews, and ``server.health``, which answers probes.
"""
