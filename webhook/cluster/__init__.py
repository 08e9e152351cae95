"""The cluster: a client of its API server, live caches of its objects, and indexes over them."""
