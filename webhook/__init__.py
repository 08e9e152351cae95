"""The admission server, the audit and the command line of evenspread."""

__version__ = "0.1.0"

PROJECT_ADDRESS = "https://example.com/evenspread"
"""The address of the repository; a fork writes its own here, and a test names the other places."""
