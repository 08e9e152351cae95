"""
Fuzzing: whether any input makes a reader fail in another way than it declares.

``targets`` holds a function for each reader, which raises whatever it must not raise; ``corpus``
holds inputs for each of them, which the unit tests run; ``engine`` searches for more with atheris,
and ``__main__`` runs the engine for each target in turn and prints a table.
"""
