"""
HTTP/1.1 for both listeners, without knowledge of Kubernetes.

``listener`` owns a port; ``endpoint`` serves its connections; ``connections`` decides which ones
close when there are too many; ``parser`` checks that the fast parser is there; ``body`` reads
request targets and bodies; ``responses`` writes replies; ``drain`` stops a server without losing a
call; ``limits`` holds every limit with its unit and reason. Two listeners build on these:
``server.admission`` answers reviews, ``server.health`` answers probes.
"""
