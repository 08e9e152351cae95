"""
The command line: one module a command, imported only when that command is called.

A command reads what it is about by ``inputs``, has it decided elsewhere, and shows the answer by
``views``.
"""
