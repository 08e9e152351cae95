"""
Suites of expected answers: manifests, a cluster, a configuration, and what the server has to say.

``form`` is how a suite is written, ``loading`` reads suites and what they name, ``running`` runs
their cases, ``expectations`` compares, and ``results`` is what came of it.
"""
