"""Options and help of ``evenspread certs``; ``webhook.cli.certs`` runs it."""

from typing import Any

import click

from webhook.cli import options
from webhook.cli.command import Command, CommandGroup, ImportedFunction

_CLUSTER_OPTIONS = (
    *options.API_SERVER,
    options.text(["-n", "--namespace"], "NAME", "Namespace of the Secret."),
    options.text(
        ["--name"],
        "NAME",
        "Name of the installation, the --name of the server; the Secret is NAME-ca.",
        "evenspread",
    ),
)


SHOW = ImportedFunction("webhook.cli.certs:certs")


def _show(**values: Any) -> Any:
    """Show the certificates, unless a command of the group follows."""
    is_followed = click.get_current_context().invoked_subcommand is not None
    return None if is_followed else SHOW(**values)


command = CommandGroup(
    "certs",
    callback=_show,
    invoke_without_command=True,
    params=[
        options.path(["--state"], "FOLDER", "State folder of --tls standalone."),
        options.path(["--tls-dir"], "FOLDER", "Certificate folder of --tls files."),
        options.text(
            ["--address"],
            "HOST:PORT",
            "Replica to connect to; shows the certificate that it serves.",
        ),
        *_CLUSTER_OPTIONS,
        options.output("certs"),
    ],
    help=(
        "Show the certificates in the Secret, in folders, in the caBundles of the webhook "
        "configurations, and the one that a replica serves. The exit code is 1 if a caBundle does "
        "not contain the CA that signed the served certificate."
    ),
    commands=[
        Command(
            "rotate",
            callback=ImportedFunction("webhook.cli.certs:rotate"),
            params=[
                *_CLUSTER_OPTIONS,
                click.Option(
                    ["--ca"],
                    is_flag=True,
                    help="Replace the CA, with an overlap, and then the serving certificates.",
                ),
            ],
            short_help="Request an early rotation.",
            help=(
                "Request new serving certificates, or a new CA, before they are due. The replicas "
                "rotate them without downtime. The old CA stays trusted until its last serving "
                "certificate has expired, 7 days and caOverlap after the new one signs. If a key "
                "has leaked, use `evenspread certs revoke`."
            ),
            examples=("evenspread certs rotate -n evenspread --ca",),
        ),
        Command(
            "revoke",
            callback=ImportedFunction("webhook.cli.certs:revoke"),
            params=[*_CLUSTER_OPTIONS],
            short_help="Revoke the CA after a key leak.",
            help=(
                "Revoke the CA and all its serving certificates, because a key has leaked. The "
                "replicas create a new CA at once and sign with it within 30 seconds. The old CA "
                "leaves the Secret and every caBundle 60 seconds after the new one is in all of "
                "them, and so does every other CA in a caBundle. No call fails meanwhile. It is an "
                "error if no replica starts this within 60 seconds; with certificate.mode files, "
                "renew the CA where the certificate is issued."
            ),
            examples=("evenspread certs revoke -n evenspread",),
        ),
    ],
    examples=(
        "evenspread certs -n evenspread --address 127.0.0.1:8443",
        "evenspread certs --state .evenspread -o json",
    ),
)
