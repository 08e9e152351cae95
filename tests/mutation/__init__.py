"""
Mutation testing: whether the tests of a module notice a defect in it.

``mutants`` lists small changes of a source text, ``trial`` runs the mirrored tests of a module on
each of them, ``__main__`` draws a sample and prints the result.
"""
