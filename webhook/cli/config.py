"""``evenspread config check``: validate configuration files, and show their effect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from webhook.admission.offline import build_reviews, decode_review, unpack_recording
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.facts import (
    FactsSources,
    namespace_of,
    read_facts,
    resolve_namespace,
    takes_sources,
)
from webhook.cli.inputs.labelselectors import describe_selected, selects
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.namespaces import put_into_namespace, require_namespace
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.inputs.spreadpolicies import add_spread_policies
from webhook.cli.inputs.unknownnamespaces import note_unknown_namespaces
from webhook.cli.output import OutputFormat, write_document, write_stderr
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import REASONS
from webhook.config.configuration import CONFIGURATION_KIND
from webhook.config.project import Project
from webhook.config.summary import (
    ConfiguredRule,
    GateRow,
    KindPlaces,
    advise,
    configured_kinds,
    configured_rules,
    describe_pods,
    describe_profile,
    gate_table,
    inject_example,
    profile_rules,
)
from webhook.errors import ConfigError, ReviewError
from webhook.manifests import Document, format_yaml
from webhook.policy import render
from webhook.policy.api.schedulerargs import SCHEDULER_KIND
from webhook.policy.defaulting.inject import Injection, inject
from webhook.policy.defaulting.profiles import Mode, Policy, ScaleDown
from webhook.policy.facts import Facts
from webhook.policy.kinds import DEFAULT_NAMESPACE, POD
from webhook.policy.model import LabelSelector

GATE_HEADINGS = ("gate", "stage", "value", "from", "guards")
CONFIGURATION_FLAGS = {CONFIGURATION_KIND: "--config", SCHEDULER_KIND: "--scheduler-config"}
NOT_YET = "not yet"  # the stage of a gate that a later version introduces


@dataclass(frozen=True)
class ExamplePod:
    """
    A pod with its default constraints.

    Attributes:
        pod: Its name or description.
        injection: Its defaults, or the reason that it has none.
    """

    pod: str
    injection: Injection

    @property
    def reason(self) -> str:
        """Why the pod gets no defaults; empty if it gets some."""
        return REASONS.get(self.injection.skip, "")

    @property
    def constraints(self) -> list[Any]:
        """The defaults as JSON values."""
        return [msgspec.json.decode(entry.written) for entry in self.injection.entries]


@takes_sources
def check(
    *,
    filename: tuple[str, ...],
    strict: bool,
    sources: FactsSources,
    namespace: str,
    selector: LabelSelector,
    output: OutputFormat,
    project: Project | None,
    **policy_options: Any,
) -> ExitCode:
    """Check the configuration and show its effect."""
    of_files = read_policy(project=project, **policy_options)
    inputs = Inputs(filename, strict=strict, unpack=unpack_recording, project=project)
    inside = resolve_namespace(namespace, sources)
    documents = list(put_into_namespace(inputs.objects(), inside))
    owners = of_files.configuration.owner_selectors
    facts = read_facts(sources, documents, owners, inputs, inside)
    requested = add_spread_policies(of_files, inputs, sources.live)
    if sources.live is None:
        stored = (name for _, name in facts.namespace_store.iterate_keys())
        known = {*map(namespace_of, documents), *inputs.namespaces, *stored}
        require_namespace(namespace, known - {""})
    chosen = [
        one
        for one in documents
        if namespace in ("", namespace_of(one)) and selects(selector, one.value)
    ]
    policy = requested.policy
    example = _find_example(policy, facts, chosen)
    if example is None:
        if filename and not inputs.policies:
            inputs.report_nothing(describe_selected(POD.kind, selector))
        example = _build_example(policy, facts, inside)
    of_pods = (namespace_of(one) for one in chosen if one.kind == POD.kind)
    for note in note_unknown_namespaces(
        policy.profiles, [namespace, *of_pods], facts.namespace_labels
    ):
        write_stderr(note)
    effect = requested, advise(policy, facts), example
    inputs.report()
    if output is OutputFormat.TABLE:
        show(*effect, Terminal())
    else:
        write_document(as_document(*effect), output)
    return outcome(findings=False, unfinished=bool(inputs.problems))


def _build_example(policy: Policy, facts: Facts, namespace: str) -> ExamplePod:
    """Use a built-in pod with a Service."""
    place = "" if namespace == DEFAULT_NAMESPACE else f", in namespace {namespace}"
    name = f"a pod labelled app=example, behind a Service{place}"
    return ExamplePod(name, inject_example(policy, namespace, facts))


def _find_example(policy: Policy, facts: Facts, documents: list[Document]) -> ExamplePod | None:
    """
    Use the first Pod of the files.

    Returns:
        None if there is none.

    Raises:
        ConfigError: It cannot be read, or a file is a configuration.
    """
    for document in documents:
        if flag := CONFIGURATION_FLAGS.get(document.kind):
            raise ConfigError(f"is a {document.kind}: name it with {flag}", document.source)
    for review in build_reviews(documents, {POD: ()}):
        try:
            request = decode_review(review, policy)
        except ReviewError as error:
            raise ConfigError(str(error), review.document.place()) from error
        if request.template is not None:
            name = f"Pod {request.namespace}/{request.shown_name}"
            injection = inject(request.template, request.namespace, policy, facts)
            return ExamplePod(name, injection)
    return None


def as_document(
    requested: RequestedPolicy, advice: Sequence[str], example: ExamplePod
) -> dict[str, Any]:
    """Convert the effect to a document for JSON or YAML."""
    configuration, gates = requested.configuration, requested.gates
    return {
        "files": list(configuration.files),
        "mode": str(configuration.mode),
        "kubernetes": str(gates.version),
        "scaleDownRepair": configuration.scale_down_repair,
        "profiles": [
            describe_profile(requested.policy, profile, configuration.orders)
            for profile in requested.policy.profiles
        ],
        "kinds": [row._asdict() for row in configured_kinds(requested.policy)],
        "rules": [row._asdict() for row in configured_rules(requested.policy)],
        "gates": [row._asdict() for row in gate_table(gates)],
        "notices": list(configuration.notices),
        "advice": list(advice),
        "example": {
            "pod": example.pod,
            "profile": example.injection.profile,
            "reason": example.reason,
            "recommended": example.injection.recommended,
            "constraints": example.constraints,
        },
    }


def show(
    requested: RequestedPolicy, advice: Sequence[str], example: ExamplePod, terminal: Terminal
) -> None:
    """Write the effect as text."""
    configuration, gates = requested.configuration, requested.gates
    files = ", ".join(configuration.files) or "no file, so the defaults"
    repair = "; scaleDownRepair on" if configuration.scale_down_repair else ""
    terminal.line(("configuration", Style.PLACE), f": {files}; mode {configuration.mode}{repair}")
    _show_profiles(requested.policy, configuration.orders, terminal)
    _show_kinds(configured_kinds(requested.policy), terminal)
    _show_rules(configured_rules(requested.policy), terminal)
    terminal.line()
    terminal.line((f"feature gates of Kubernetes {gates.version}", Style.PLACE))
    terminal.table(GATE_HEADINGS, map(_gate_cells, gate_table(gates)))
    for heading, sentences in (("notice", configuration.notices), ("advice", advice)):
        for sentence in sentences:
            terminal.line((heading, Style.DOUBTFUL), f": {sentence}")
    none = f"none, since {example.reason}"
    held = ", which only recommends them" if example.injection.recommended else ""
    found = f"from profile {example.injection.profile}{held}"
    source = found if example.constraints else none
    terminal.line(("defaults", Style.PLACE), f" of {example.pod}: {source}")
    _show_constraints(example.constraints, terminal)


def _show_profiles(policy: Policy, orders: Mapping[str, int], terminal: Terminal) -> None:
    if not policy.profiles:
        terminal.line("no profiles: no pod gets defaults")
    for number, profile in enumerate(policy.profiles, start=1):
        completes = ", completes null selectors" if profile.complete_selectors else ""
        terminal.line()
        order = orders.get(profile.name)
        resource = "" if order is None else f" (SpreadPolicy, order {order})"
        terminal.line((f"profile {number}: {profile.name}", Style.PLACE), resource)
        terminal.line(f"  for     {describe_pods(profile)}")
        if profile.mode is Mode.RECOMMEND:
            terminal.line(f"  mode    {profile.mode}")
        terminal.line(f"  merge   {profile.merge}{completes}")
        if profile.scale_down is not ScaleDown.NONE:
            terminal.line(f"  scale   down with {profile.scale_down}")
        if profile.gangs:
            terminal.line("  gangs   get defaults too")
        for row in profile_rules(policy, profile):
            terminal.line(f"  rule    {_describe_rule(row)}")
        _show_constraints(list(map(render.constraint, profile.constraints)), terminal)


def _show_kinds(kinds: Sequence[KindPlaces], terminal: Terminal) -> None:
    if kinds:
        terminal.line()
        terminal.line(("configured kinds", Style.PLACE))
    for row in kinds:
        terminal.line(f"  {row.kind}: {', '.join(row.paths)}")


def _show_rules(rules: Sequence[ConfiguredRule], terminal: Terminal) -> None:
    if rules:
        terminal.line()
        terminal.line(("configured rules", Style.PLACE))
    for row in rules:
        terminal.line(f"  {_describe_rule(row)}")


def _describe_rule(row: ConfiguredRule) -> str:
    changed = "" if row.action == row.default else f", not {row.default}"
    exemptible = "" if row.exemptible else ", without exemptions"
    return f"{row.rule}: {row.action}{changed}{exemptible}"


def _gate_cells(row: GateRow) -> tuple[str, ...]:
    return row.name, row.stage or NOT_YET, "on" if row.on else "off", row.source, row.guards


def _show_constraints(constraints: Sequence[Any], terminal: Terminal) -> None:
    written = format_yaml(list(constraints)) if constraints else ""
    for line in written.splitlines():
        terminal.line("  ", (line, Style.GOOD))
