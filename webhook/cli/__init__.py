"""
The command line: one module per command, imported only when that command is called.

A command reads its objects with ``inputs``, calls the packages that decide, and writes the result
with ``views``. It must not decide anything itself.
"""
