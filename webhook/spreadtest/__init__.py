"""
Test suites for configurations: ``evenspread test``.

A suite holds requests with expected responses. ``schema`` defines the file format, ``suite``
finds suites and loads them with the files they name, ``runner`` runs their cases and
compares the responses, and ``results`` holds the outcome.
"""
