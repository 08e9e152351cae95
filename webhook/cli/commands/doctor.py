"""Options and help of ``evenspread doctor``; ``webhook.cli.doctor`` runs it."""

import click

from webhook.cli import options
from webhook.cli.command import Command, ImportedFunction

WAIT = "2m"  # a replica is ready in seconds, but its image may have to be pulled
SET_FAILURE_POLICY = "--set-failure-policy"


command = Command(
    "doctor",
    callback=ImportedFunction("webhook.cli.doctor:doctor"),
    params=[
        options.text(
            ["-n", "--namespace"],
            "NAME",
            "Namespace of the Deployment. Default: that of the Service that the webhooks call.",
        ),
        options.text(
            ["--name"], "NAME", "Name of the installation, the --name of the server.", "evenspread"
        ),
        *options.API_SERVER,
        options.text(
            ["--probe-namespace"],
            "NAME",
            "Namespace for dry-run Pods. Default: a namespace that the webhooks match.",
        ),
        options.text(
            ["--address"], "HOST:PORT", "Admission port of a replica, to check its certificate."
        ),
        options.repeated(
            "--health",
            "HOST:PORT",
            "Connect to this health port directly, instead of through the proxy of the API server.",
        ),
        click.Option(
            ["--wait"],
            is_flag=False,
            flag_value=WAIT,
            default="",
            metavar="[DURATION]",
            help="Skip the checks and wait until a replica answers for both webhooks. "
            f"DURATION is {WAIT} if it is omitted.",
        ),
        options.repeated(
            SET_FAILURE_POLICY,
            "HOOK=POLICY",
            "After --wait, set the failurePolicy of the mutating or the validating webhook, for "
            "example validating=Fail.",
        ),
        options.output("doctor"),
    ],
    help=(
        "Check an installation: the webhook configurations, certificates, reachability, "
        "permissions, and the health of the replicas. Each problem comes with advice. Checks "
        "that need permissions that you do not have are listed as not checked. The exit code is "
        "1 if there is a problem. The checks create Pods only as dry runs; only "
        "--set-failure-policy changes the cluster."
    ),
    examples=(
        "evenspread doctor",
        "evenspread doctor -n evenspread --address 127.0.0.1:8443 -o json",
        "evenspread doctor --wait 5m --set-failure-policy validating=Fail",
    ),
)
