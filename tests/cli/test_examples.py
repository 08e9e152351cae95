"""Every example of a help text succeeds."""

import io
import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from certs.standalone import LOCAL_HOSTS, ensure_pair
from tests.certs.world import real_clock
from tests.cli import files
from webhook.__main__ import main
from webhook.cli.program import program

REVIEW = Path(__file__).parents[2] / "examples/reviews/web-pod.json"

ELSEWHERE = (
    "serve",  # waits for a signal; its example runs in test_serve
    "certs -n",  # needs a cluster, as the next one; see test_certs
    "certs rotate",
    "certs revoke",
    "audit --context",
    "explain deploy -l app=web --context",  # see test_explain_facts
    "scaledown",  # needs a cluster; see test_scaledown
    "export map --config config.yaml --check",  # needs a cluster; see test_policydrift
    "policy diff -f new.yaml --config config.yaml --context",  # see test_policydiff
    "rebalance",  # needs pods; see test_rebalance
    "doctor",  # needs a cluster; see test_doctor
    "validate -f manifests/ -n shop -o name",  # prints nothing without findings
    "validate -k",  # needs kustomize; see test_kustomize
    "fix",  # reports on stderr; see test_fix
)


def helps() -> dict[str, str]:
    """Command line -> help text, of every command."""
    found: dict[str, str] = {}
    pending: list[tuple[str, click.Command]] = [("", program)]
    while pending:
        name, command = pending.pop()
        context = click.Context(command, info_name="evenspread", **command.context_settings)
        found[name] = command.get_help(context)
        if isinstance(command, click.Group):
            for inner_name in command.list_commands(context):
                inner = command.get_command(context, inner_name)
                assert inner is not None
                pending.append((f"{name} {inner_name}".strip(), inner))
    return found


def examples() -> list[str]:
    lines = {
        line.strip()
        for text in helps().values()
        for line in text.partition("\nExamples:\n")[2].splitlines()
    }
    others = [f"evenspread {command}" for command in ELSEWHERE]
    return sorted(line for line in lines if not any(other in line for other in others))


@pytest.fixture
def named(folder: Path) -> Path:
    """A folder with all files that the examples name."""
    for name in ("manifests", "cluster", "policies", "tests"):
        (folder / name).mkdir()
    (folder / "pod.yaml").write_text(files.POD)
    for name in ("web.yaml", "db.yaml"):
        (folder / name).write_text(files.POD)
    (folder / "deployment.yaml").write_text(files.NODE.partition("---\n")[2])
    (folder / "manifests/pod.yaml").write_text(files.POD + files.VALID)
    (folder / "cluster/service.yaml").write_text(files.SERVICE)
    other = files.NODE.partition("---\n")[0].replace("n1", "n2").replace("us-1a", "us-1c")
    (folder / "cluster/node.yaml").write_text(f"{other}---\n{files.NODE}")
    (folder / "config.yaml").write_text(files.CONFIG)
    (folder / "config-new.yaml").write_text(files.CONFIG)
    (folder / "new.yaml").write_text(files.SPREAD_POLICY % "new")
    (folder / "cluster/policies.yaml").write_text(files.SPREAD_POLICY % "payments")
    (folder / "policies/web.yaml").write_text(files.SPREAD_POLICY % "web")
    (folder / "kube-scheduler.yaml").write_text(files.SCHEDULER)
    (folder / "tests/spreadtest.yaml").write_text(files.SUITE)
    (folder / "review.json").write_text(
        (Path(__file__).parents[2] / "examples/reviews/web-pod.json").read_text()
    )
    (folder / ".evenspread").mkdir()
    ensure_pair(folder / ".evenspread", LOCAL_HOSTS, now=real_clock())
    audited = ["-f", "manifests", "-o", "json=spread.json", "--fail-on", "never"]
    assert main(["audit", *audited, "--save-snapshot", "prod.json.gz"]) == 0
    return folder


@pytest.mark.parametrize("name", helps())
def test_every_help_has_an_example(name: str) -> None:
    shown = helps()[name].partition("\nExamples:\n")[2]

    assert f"evenspread {name}".strip() in shown


@pytest.mark.parametrize("example", examples())
@pytest.mark.usefixtures("named")
def test_an_example_succeeds(
    example: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = re.search(r"evenspread ([^|>)]*)", example)
    assert found is not None
    capsys.readouterr()  # of the audit that wrote the snapshot
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(files.POD.encode())))

    code = main(shlex.split(found[1]))

    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert out or Path("spread.sarif").stat().st_size
