"""Compare the options of a command with the parameters of the function that runs it."""

import inspect

import click

from webhook.cli.command import ImportedFunction
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.whatif import WhatIfOptions

SERVER = frozenset(ServerOptions.__slots__)
COMBINED = {
    "server": SERVER,
    "sources": SERVER | {"facts", "live"},
    "options": frozenset(WhatIfOptions.__struct_fields__),
}
"""Parameter of a function -> the options that a decorator combines into it."""


def assert_options_fit(command: click.Command, function: object = None) -> None:
    """Check that the function of a command, by default its callback, takes every option."""
    function = function or command.callback
    assert isinstance(function, ImportedFunction)
    parameters = inspect.signature(function.load()).parameters.values()
    named = {
        option
        for item in parameters
        if item.kind in (item.KEYWORD_ONLY, item.POSITIONAL_OR_KEYWORD)
        for option in COMBINED.get(item.name, {item.name})
    }
    options = {item.name for item in command.params if item.expose_value}
    takes_others = any(item.kind is item.VAR_KEYWORD for item in parameters)
    assert named <= options if takes_others else named == options
