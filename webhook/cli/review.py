"""``evenspread review``: what the server would answer, without one."""

from typing import Any

import click

from webhook.admission.offline import HOOKS, Answered, Asked, answer, ask, then_validate, unpack
from webhook.cli import options
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.clusters import facts_from
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import asked_policy
from webhook.cli.output import Format, write
from webhook.cli.terminal import Terminal
from webhook.cli.views.diffs import show_answer
from webhook.cli.views.findings import show
from webhook.cli.views.reports import Report, report_on
from webhook.config import policy as make_policy
from webhook.errors import ReviewError
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.request import Hook


class Desk:
    """
    Answers reviews and shows the answers, one after the other.

    Attributes:
        outcomes: How many answers of each sort there were.
        doubtful: How many of them had warnings.
    """

    def __init__(self, policy: Policy, facts: Facts, output: Format) -> None:
        """
        Answer nothing yet.

        Args:
            policy: What to judge by.
            facts: The cluster as it is known.
            output: How to show answers.
        """
        self._policy = policy
        self._facts = facts
        self._output = output
        self.terminal = Terminal() if output is Format.TABLE else None
        self.outcomes = {"patched": 0, "allowed as they are": 0, "denied": 0}
        self.doubtful = 0

    def answer(self, asked: Asked, hooks: tuple[Hook, ...]) -> None:
        """
        Answer one review, by one webhook after the other until one denies.

        Raises:
            ReviewError: It is none.
        """
        answered = None
        for hook in hooks:
            asked = then_validate(asked, answered) if answered else asked
            answered = answer(asked, hook, self._policy, self._facts)
            self._show(asked, answered, hook)
            if not answered.verdict.allowed:
                break

    def refuse(self, report: Report) -> None:
        """Show an object that kube-apiserver itself would refuse, before any webhook."""
        self.outcomes["denied"] += 1
        if self.terminal:
            show(report, self.terminal)
        else:
            status = {"code": report.code, "reason": "BadRequest", "message": report.message}
            response = {"allowed": False, "status": status}
            write(
                {"source": report.source, "line": report.line, "response": response}, self._output
            )

    def _show(self, asked: Asked, answered: Answered, hook: Hook) -> None:
        verdict = answered.verdict
        patched = "patched" if verdict.patch else "allowed as they are"
        self.outcomes[patched if verdict.allowed else "denied"] += 1
        self.doubtful += bool(verdict.warnings)
        if self.terminal:
            show_answer(asked, answered, hook, self.terminal)
        else:
            source, line = asked.document.source, asked.document.line()
            place = {"source": source, "line": line, "hook": str(hook)}
            write(place | answered.review, self._output)

    def summary(self) -> str:
        """Say in one line what became of all."""
        said = ", ".join(f"{count} {what}" for what, count in self.outcomes.items())
        count = sum(self.outcomes.values())
        return f"{count} {'answer' if count == 1 else 'answers'}: {said}"


def review(
    *,
    filename: tuple[str, ...],
    strict: bool,
    output: Format,
    fail_on: str,
    hook: str | None,
    cluster: str,
    **asked: Any,
) -> ExitCode:
    """Answer about every object, and show the answers."""
    configuration, gates = asked_policy(**asked)
    policy = make_policy(configuration, gates)
    inputs = Inputs(filename, strict=strict, unpack=unpack)
    documents = list(inputs.objects())
    facts = facts_from(cluster, documents, configuration.owner_selectors, inputs)
    desk = Desk(policy, facts, output)
    for each in ask(documents, policy.pod_templates):
        try:
            desk.answer(each, HOOKS[hook] if hook else (each.hook,))
        except ReviewError as error:
            report = report_on(each.document, policy.pod_templates, gates)
            if each.recorded or not report.denied:
                problem = f"the server would answer {error.status}: {error}"
                inputs.problems.append(each.document.error(problem))
            else:
                desk.refuse(report)
    inputs.tell()
    if desk.terminal:
        desk.terminal.line(desk.summary())
    doubtful = desk.doubtful and fail_on == options.WARN
    found = bool(desk.outcomes["denied"] or doubtful)
    return outcome(findings=found, unfinished=bool(inputs.problems))


command = Command(
    "review",
    callback=review,
    params=[
        options.filename("Manifests or recorded AdmissionReviews"),
        options.strict(),
        options.cluster(),
        options.config(),
        options.scheduler_config(),
        *options.gates(),
        click.Option(
            ["--hook"],
            type=click.Choice(list(HOOKS)),
            help="Which webhook answers: mutate if not given, or the one that was recorded; both: "
            "the second about what the first made of it.",
        ),
        options.output(),
        options.fail_on(),
    ],
    help=(
        "Show what the server would answer: the patch as a diff, warnings, a denial with its "
        "causes. A manifest is answered as if it were created now. Facts come from --cluster, "
        "or else from the files themselves."
    ),
    examples=(
        "evenspread review -f pod.yaml --config config.yaml --cluster cluster/",
        "evenspread review -f review.json --scheduler-config kube-scheduler.yaml -o json",
        "kubectl get pods -o yaml | evenspread review -f - --hook validate",
    ),
)
