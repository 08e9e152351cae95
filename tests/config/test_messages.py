import pytest

from tests.config.configs import FILES, HARD, HEAD, SOFT, mistakes, one_default, one_profile
from webhook.policy.catalogue import DEFAULT_ACTIONS

MISTAKES = {
    "no key but a similar one": ("mod: apply", "3: mod: no such key: did you mean mode?"),
    "no key like any": (
        "exempt: {pods: []}",
        "3: exempt.pods: no such key: keys here: namespaces",
    ),
    "a word that is none": (
        "mode: dry-run",
        "3: mode: cannot be 'dry-run': write apply or recommend",
    ),
    "a word that is almost one": (
        "fieldDefaults: whenUnsatisfied",
        "3: fieldDefaults: cannot be 'whenUnsatisfied': did you mean whenUnsatisfiable?",
    ),
    "a list where a mapping belongs": (
        "exempt: [kube-system]",
        "3: exempt: must be a mapping, not a list: write keys with values, as `key: value`",
    ),
    "a word where a list belongs": (
        "exempt:\n  namespaces: kube-system",
        "4: exempt.namespaces: must be a list, not 'kube-system': write `- ` before each entry",
    ),
    "a mapping where a list belongs": (
        "profiles:\n  # all pods\n  name: a\n  defaultConstraints: []",
        (
            "3: profiles: must be a list, not a mapping: "
            "a dash belongs before 'name' in line 5, as `- name:`"
        ),
    ),
    "an empty mapping where a list belongs": (
        "profiles: {}",
        "3: profiles: must be a list, not a mapping: write []",
    ),
    "a number where a text belongs": (
        "profiles:\n- name: 1\n  defaultConstraints: []",
        '4: profiles[0].name: must be a text, not 1: write "1"',
    ),
    "a truth where a text belongs": (
        "profiles:\n- {name: yes, defaultConstraints: []}",
        "4: profiles[0].name: must be a text, not true: write the word in quotes",
    ),
    "a list where a text belongs": (
        "profiles:\n- {name: [], defaultConstraints: []}",
        "4: profiles[0].name: must be a text, not a list",
    ),
    "a text where a truth belongs": (
        one_profile("completeSelectors: 'yes'\n  defaultConstraints: []"),
        "5: profiles[0].completeSelectors: must be true or false, not 'yes'",
    ),
    "a profile without a name": (
        "profiles:\n- defaultConstraints: []",
        "4: profiles[0].name: is missing: write it, as `name: cluster`",
    ),
    "a profile with an empty name": (
        "profiles:\n- {name: '', defaultConstraints: []}",
        "4: profiles[0].name: is empty: write a name, as `name: cluster`",
    ),
    "a profile's name that an earlier one has": (
        "profiles:\n- {name: a, defaultConstraints: []}\n- {name: a, defaultConstraints: []}",
        "5: profiles[1].name: 'a' names an earlier profile too: write another name",
    ),
    "a profile without constraints": (
        "profiles:\n- name: a",
        "4: profiles[0]: has no constraints: write defaultConstraints or schedulerConfiguration",
    ),
    "a profile with constraints from two places": (
        one_profile("defaultConstraints: []\n  schedulerConfiguration: args.yaml"),
        (
            "6: profiles[0].schedulerConfiguration: "
            "cannot stand beside defaultConstraints: leave one of the two out"
        ),
    ),
    "a profile that no pod could fit": (
        one_profile("match: {ownerKinds: []}\n  defaultConstraints: []"),
        "5: profiles[0].match.ownerKinds: is empty, which fits no pod: name some, or leave it out",
    ),
    "a skew that is no number": (
        one_default("maxSkew: '1', topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"),
        "6: profiles[0].defaultConstraints[0].maxSkew: must be a whole number, not '1'",
    ),
    "a skew that is no whole number": (
        one_default("maxSkew: 1.5, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"),
        "6: profiles[0].defaultConstraints[0].maxSkew: must be a whole number, not 1.5",
    ),
    "a skew beyond 32 bits": (
        one_default("maxSkew: 2147483648, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"),
        (
            "6: profiles[0].defaultConstraints[0].maxSkew: must fit in "
            "32 bits, and 2147483648 does not"
        ),
    ),
    "what kube-scheduler would refuse": (
        one_default("topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"),
        (
            "6: profiles[0].defaultConstraints[0].maxSkew: "
            "Invalid value: 0: not in valid range (0, inf); write the "
            "number of pods that a domain may "
            "hold above the emptiest one, as `maxSkew: 1`"
        ),
    ),
    "a selector in a default": (
        one_default(f"{HARD}, labelSelector: {{}}"),
        (
            "6: profiles[0].defaultConstraints[0].labelSelector: "
            "Forbidden: constraint must not define a selector, as they "
            "deduced for each pod; leave it "
            "out: each pod gets that of its Services and of the controller that owns it"
        ),
    ),
    "minDomains with ScheduleAnyway, which kube-scheduler lets pass": (
        one_default("maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, minDomains: 2"),
        (
            "6: profiles[0].defaultConstraints[0].minDomains: "
            "Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not "
            "ScheduleAnyway, so no pod with it could be created; "
            "write `whenUnsatisfiable: DoNotSchedule`, or leave minDomains out"
        ),
    ),
    "minDomains with an action that is none, told once": (
        one_default("maxSkew: 1, topologyKey: z, whenUnsatisfiable: Never, minDomains: 2"),
        (
            "6: profiles[0].defaultConstraints[0].whenUnsatisfiable: "
            'Unsupported value: "Never": supported values: '
            '"DoNotSchedule", "ScheduleAnyway"; write '
            "`DoNotSchedule` to hold the pod back, `ScheduleAnyway` to prefer emptier domains"
        ),
    ),
    "a hard default that ignores node affinity": (
        one_default(f"{HARD}, nodeAffinityPolicy: Ignore"),
        (
            "6: profiles[0].defaultConstraints[0].nodeAffinityPolicy: "
            "cannot be Ignore in a hard default, which would hold back "
            "the pods of DaemonSets, each "
            "pinned to one node: write Honor, or whenUnsatisfiable: ScheduleAnyway"
        ),
    ),
    "an inclusion policy that is none": (
        one_default(f"{HARD}, nodeTaintsPolicy: honor"),
        (
            "6: profiles[0].defaultConstraints[0].nodeTaintsPolicy: "
            'Unsupported value: "honor": supported values: "Honor", '
            '"Ignore", so no pod with it could '
            "be created; write `Honor` to count only nodes on which the pod can run, "
            "`Ignore` to count all"
        ),
    ),
    "a pair that stands twice": (
        one_profile(f"defaultConstraints:\n  - {SOFT}\n  - {SOFT}"),
        (
            "7: profiles[0].defaultConstraints[1]: "
            'Duplicate value: "{zone, ScheduleAnyway}"; remove one of '
            "the two entries, or join them "
            "into one with the smaller maxSkew"
        ),
    ),
    "a selector that is none": (
        one_profile(
            "match:\n    objectSelector:\n      matchExpressions:\n"
            "      - {key: a, operator: Exists, values: [b]}\n  defaultConstraints: []"
        ),
        (
            "8: profiles[0].match.objectSelector.matchExpressions[0].values: "
            "Forbidden: may not be specified when `operator` is 'Exists' "
            "or 'DoesNotExist'; write label "
            "keys and values in the syntax of labels; values with In and NotIn only"
        ),
    ),
    "a file that is not there": (
        one_profile("schedulerConfiguration: none.yaml"),
        (
            "5: profiles[0].schedulerConfiguration: "
            "'etc/none.yaml' cannot be read: No such file or directory"
        ),
    ),
    "a scheduler that its file does not have": (
        one_profile("match: {schedulerNames: [othr]}\n  schedulerConfiguration: two.yaml"),
        (
            "5: profiles[0].match.schedulerNames[0]: "
            "cannot be 'othr': did you mean other?; the scheduler configuration has no other"
        ),
    ),
    "what can be no Namespace": (
        "exempt: {namespaces: [kube-system, Kube_System]}",
        (
            "3: exempt.namespaces[1]: 'Kube_System' is no name of a Namespace: "
            "write lower-case letters, digits and dashes"
        ),
    ),
    "a long word with what a terminal would obey": (
        f'mode: "\\e[31m{"x" * 50}"',
        f"3: mode: cannot be '\\x1b[31m{'x' * 35}...': write apply or recommend",
    ),
    "a long number": (
        one_default(f"maxSkew: {'1' * 5000}, topologyKey: z, whenUnsatisfiable: ScheduleAnyway"),
        (
            "6: profiles[0].defaultConstraints[0].maxSkew: "
            f"must be a whole number, not '{'1' * 40}...'"
        ),
    ),
    "an unknown rule": (
        "rules: {TSC100: warn}",
        "3: rules.TSC100: is no policy rule: did you mean TSC110?",
    ),
    "a rule of the API": (
        "rules:\n  TSC001: warn",
        (
            "4: rules.TSC001: is a rule of the API, which kube-apiserver "
            "denies by as well: leave it out"
        ),
    ),
    "an action that is none": (
        "rules: {TSC101: error}",
        "3: rules.TSC101: cannot be 'error': write deny, warn, audit or off",
    ),
    "a rule that is switched on": (
        "rules: {TSC101: on}",
        "3: rules.TSC101: cannot be true: write deny, warn, audit or off",
    ),
    "a rule that is set to a list": (
        "rules: {TSC101: [deny]}",
        "3: rules.TSC101: must be an action, not a list: write deny, warn, audit or off",
    ),
    "an unknown gate": (
        "featureGates:\n  MinDomainsInPodTopologySpred: true",
        (
            "4: featureGates.MinDomainsInPodTopologySpred: is no feature gate: "
            "did you mean MinDomainsInPodTopologySpread?"
        ),
    ),
    "a gate that is no truth": (
        "featureGates: {AllBeta: maybe}",
        "3: featureGates.AllBeta: must be true or false, not 'maybe'",
    ),
    "a kind that is built in": (
        "podTemplates: [{group: apps, kind: Deployment, path: spec.template}]",
        "3: podTemplates[0].kind: Deployment.apps is built in: leave the entry out",
    ),
    "a kind that stands twice": (
        (
            "ownerSelectors:\n- {group: g, kind: K, selectorPath: a}\n"
            "- {group: g, kind: K, selectorPath: b}"
        ),
        "5: ownerSelectors[1].kind: K.g stands twice: leave one of the two",
    ),
    "a kind without a group": (
        "podTemplates: [{group: '', kind: K, path: spec}]",
        "3: podTemplates[0].group: is empty: write a name",
    ),
    "a path with a hole": (
        "podTemplates: [{group: g, kind: K, path: spec..template}]",
        (
            "3: podTemplates[0].path: must be names of members with dots between them: "
            "write it as `spec.template`"
        ),
    ),
    "a selector's path with a hole": (
        "ownerSelectors: [{group: g, kind: K, selectorPath: ''}]",
        (
            "3: ownerSelectors[0].selectorPath: must be names of members with dots between them: "
            "write it as `spec.selector`"
        ),
    ),
    "a duration without a unit": (
        "caOverlap: 600",
        "3: caOverlap: must be a duration, not 600: write it as `10m`",
    ),
    "a duration that is too short": (
        "caOverlap: 59s",
        "3: caOverlap: is too short for every client to learn of a new CA: write 60s or more",
    ),
    "a key that stands twice": (
        "mode: apply\nmode: apply",
        "4: duplicate key 'mode': remove one of the two",
    ),
    "a second document": ("---\na: 1", "4: is a second document: keep one in a file"),
    "no YAML": (
        "a: [",
        "3: invalid YAML: while parsing a flow node, did not find expected node content",
    ),
}


@pytest.mark.parametrize(("text", "told"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_with_its_place_and_what_to_write(text: str, told: str) -> None:
    (line,) = mistakes(HEAD + text)

    assert line == f"etc/spread.yaml:{told}"


WHOLE_FILES = {
    "an empty file": ("", ["etc/spread.yaml: is empty: write at least apiVersion and kind"]),
    "a comment alone": ("# x", ["etc/spread.yaml: is empty: write at least apiVersion and kind"]),
    "a list": ("[1]", ["etc/spread.yaml: must be a mapping: write at least apiVersion and kind"]),
    "no version and no kind": (
        "mode: apply",
        [
            (
                "etc/spread.yaml:1: apiVersion: is missing: "
                "write it, as `apiVersion: evenspread.io/v1alpha1`"
            ),
            "etc/spread.yaml:1: kind: is missing: write it, as `kind: SpreadConfiguration`",
        ],
    ),
    "another version": (
        "apiVersion: evenspread.io/v1\nkind: SpreadConfiguration",
        [
            (
                "etc/spread.yaml:1: apiVersion: cannot be 'evenspread.io/v1': "
                "did you mean evenspread.io/v1alpha1?"
            )
        ],
    ),
    "a file of kube-scheduler": (
        FILES["etc/system.yaml"],
        [
            (
                "etc/spread.yaml:3: kind: is KubeSchedulerConfiguration: "
                "give the file with --scheduler-config"
            )
        ],
    ),
    "several mistakes, in the order of lines": (
        (
            f"{HEAD}caOverlap: x\nmode: x\nprofiles:\n- name: a\n  "
            f"schedulerConfiguration: bad.yaml\n"
            "- name: b\n  schedulerConfiguration: bad.yaml\nrules: {TSC001: off, TSC999: off}"
        ),
        [
            "etc/spread.yaml:3: caOverlap: must be a duration, not 'x': write it as `10m`",
            "etc/spread.yaml:4: mode: cannot be 'x': write apply or recommend",
            (
                "etc/spread.yaml:10: rules.TSC001: is a rule of the API, "
                "which kube-apiserver denies by as well: leave it out"
            ),
            (
                f"etc/spread.yaml:10: rules.TSC999: is no policy rule: write "
                f"{', '.join([*DEFAULT_ACTIONS][:-1])} or TSC115"
            ),
        ],
    ),
    "mistakes in a file that two profiles name, told once": (
        (
            f"{HEAD}profiles:\n- name: a\n  schedulerConfiguration: bad.yaml\n"
            "- name: b\n  schedulerConfiguration: bad.yaml"
        ),
        [
            (
                'etc/bad.yaml:3: defaultingType: Unsupported value: "list": supported values: '
                '"System", "List"; write `defaultingType: List`, or leave out defaultConstraints'
            )
        ],
    ),
}


@pytest.mark.parametrize(("text", "told"), WHOLE_FILES.values(), ids=WHOLE_FILES.keys())
def test_mistakes_of_a_file_are_told_together(text: str, told: list[str]) -> None:
    assert mistakes(text) == told
