"""
Mutation testing: whether the tests of a module notice a defect in it.

``mutants`` lists small changes of a source text, ``trial`` runs the mirrored tests of a module on
each of them, ``__main__`` draws a sample and prints the result.

Two libraries do the same in general. mutmut 3 changes functions only, and half of the policy is in
tables; it picks tests by coverage, not by name. cosmic-ray starts a process for each mutant: a
second of CPU time for Python, pytest and all imports, where a fork of a process that has imported
them takes a quarter of one.
"""
