"""``evenspread serve``: read the settings and run the admission server of ``webhook.server``."""

import os
from typing import Any

import click
from click.core import ParameterSource

from webhook.cli.commands.serve import DEMO
from webhook.cli.output import write_stderr
from webhook.config.settings import Settings, read_settings
from webhook.errors import ConfigError
from webhook.server.run import run


@click.pass_context
def serve(context: click.Context, /, **flags: Any) -> None:
    """Run the server until SIGTERM or SIGINT."""
    file: str | None = flags.pop(DEMO)
    given = {
        name: value
        for name, value in flags.items()
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    if facts := flags["facts"]:  # also from the variable, and from the deprecated spelling
        given["facts"] = os.pathsep.join(facts)
    settings = read_settings(given)
    _check_demo(settings, file)
    if file is None:
        run(settings, write_stderr)
    else:
        # Imported for a demo only: rich takes 3 MiB, which the server would hold for its lifetime.
        from webhook.cli.views.demo import demo_callback  # noqa: PLC0415

        run(settings, lambda _line: None, demo_callback(file))  # it shows the addresses itself


def _check_demo(settings: Settings, file: str | None) -> None:
    """Check that the settings allow a demo, if there is one."""
    if file is None:
        return
    if settings.certificate != "standalone":
        raise ConfigError("requires the standalone CA: add --tls standalone", f"--{DEMO}")
    if settings.client_ca:
        raise ConfigError("presents no client certificate: leave out --client-ca", f"--{DEMO}")
