"""The admission server, the audit and the command line of evenspread."""

__version__ = "0.1.0"
