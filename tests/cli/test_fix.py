import errno
import os
import subprocess
from pathlib import Path

import msgspec
import pytest
import yaml

from tests.cli import files
from tests.cli.conftest import Run
from webhook.policy.catalogue import CATALOGUE

POD = files.POD + files.VALID.replace("maxSkew: 1", "maxSkew: 0  # even")
FIXED = POD.replace("maxSkew: 0", "maxSkew: 1")
DIFF = """\
--- web.yaml
+++ web.yaml
@@ -8,7 +8,7 @@
   containers:
   - {name: web, image: nginx}
   topologySpreadConstraints:
-  - maxSkew: 0  # even
+  - maxSkew: 1  # even
     topologyKey: topology.kubernetes.io/zone
     whenUnsatisfiable: DoNotSchedule
     labelSelector: {matchLabels: {app: web}}
"""


@pytest.fixture
def web(folder: Path) -> Path:
    path = folder / "web.yaml"
    path.write_text(POD)
    return path


def test_a_file_is_fixed_in_place_and_reported(web: Path, run: Run) -> None:
    ran = run("fix", "-f", "web.yaml")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "web.yaml:11: TSC001 Pod shop/web-1: wrote maxSkew: 1, not 0",
        "1 finding fixed in 1 file, 0 left",
    ]
    assert web.read_text() == FIXED
    assert run("validate", "-f", "web.yaml").code == 0


def test_a_second_run_finds_nothing_and_writes_nothing(web: Path, run: Run) -> None:
    run("fix", "-f", "web.yaml")
    before = web.stat()

    ran = run("fix", "-f", "web.yaml")

    after = web.stat()
    assert (ran.code, ran.out) == (0, "0 findings fixed in 0 files, 0 left\n")
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_diff_is_shown_and_nothing_is_written(web: Path, run: Run) -> None:
    ran = run("fix", "-f", "web.yaml", "--diff")

    assert (ran.code, ran.out) == (1, DIFF)
    assert ran.err.endswith("1 finding would be fixed in 1 file, 0 left\n")
    assert web.read_text() == POD


def test_an_empty_diff_is_no_finding(folder: Path, run: Run) -> None:
    (folder / "web.yaml").write_text(files.POD + files.VALID)

    assert run("fix", "-f", "web.yaml", "--diff")[:2] == (0, "")


ENDS = {
    "a last line with an end": POD.encode(),
    "a last line without one": POD.rstrip().encode(),
    "lines ended as on Windows": POD.replace("\n", "\r\n").encode(),
    "the last line changed, without an end": (POD.rstrip() + "\n    minDomains: 0").encode(),
}


@pytest.mark.parametrize("data", ENDS.values(), ids=ENDS.keys())
def test_git_applies_the_diff_to_the_result_of_fix(data: bytes, web: Path, run: Run) -> None:
    web.write_bytes(data)
    diff = run("fix", "-f", "web.yaml", "--diff").out
    run("fix", "-f", "web.yaml")
    fixed = web.read_bytes()
    web.write_bytes(data)

    subprocess.run(["git", "apply", "-p0", "-"], input=diff.encode(), check=True, timeout=60)

    assert web.read_bytes() == fixed != data


ENCODED = {
    "UTF-8": "utf-8",
    "with a byte order mark": "utf-8-sig",
    "UTF-16": "utf-16",
}


@pytest.mark.parametrize("encoding", ENCODED.values(), ids=ENCODED.keys())
def test_a_file_keeps_its_encoding(encoding: str, web: Path, run: Run) -> None:
    web.write_bytes(f"# é\n{POD}".encode(encoding))

    run("fix", "-f", "web.yaml")

    assert web.read_bytes() == f"# é\n{FIXED}".encode(encoding)


PIPED = {
    "an object with a finding": (POD, FIXED, 0),
    "an object without a finding": (files.POD, files.POD, 0),
    "no object": ("a:   1\n", "a:   1\n", 0),
    "no YAML": ("{\n", "{\n", 0),
    "no YAML among objects": (f"{POD}---\n{{\n", f"{POD}---\n{{\n", 3),
    "JSON": ('{"a":\t1}', '{"a":\t1}', 0),
}


@pytest.mark.parametrize(("before", "after", "code"), PIPED.values(), ids=PIPED.keys())
def test_the_standard_input_is_written_to_the_standard_output(
    before: str, after: str, code: int, run: Run
) -> None:
    ran = run("fix", "-f", "-", "--fail-on", "never", stdin=before.encode())

    assert ran.out == after
    assert ran.code in (code, 3)
    assert "left\n" in ran.err


def test_the_report_is_json(web: Path, run: Run) -> None:
    (report,) = run("fix", "-f", "web.yaml", "-o", "json").documents

    assert report == {
        "apiVersion": "evenspread.io/v1alpha1",
        "kind": "FixReport",
        "written": True,
        "changed": ["web.yaml"],
        "fixed": [
            {
                "rule": "TSC001",
                "weight": "deny",
                "source": "web.yaml",
                "line": 11,
                "object": "Pod shop/web-1",
                "field": "spec.topologySpreadConstraints[0].maxSkew",
                "problem": "Invalid value: 0: must be greater than zero",
                "instead": CATALOGUE["TSC001"].fix,
                "wrote": "wrote maxSkew: 1, not 0",
                "resource": "pod/web-1",
            }
        ],
        "left": [],
    }


def test_the_report_has_the_diff_that_is_not_written(web: Path, run: Run) -> None:
    ran = run("fix", "-f", "web.yaml", "--diff", "-o", "json")

    (report,) = ran.documents
    assert (ran.code, ran.err) == (1, "")
    assert (report["written"], report["changed"], report["diff"]) == (False, ["web.yaml"], DIFF)


@pytest.mark.parametrize(("options", "is_on_stdout"), [((), False), (("--diff",), True)])
def test_the_report_is_on_stderr_only_beside_the_manifest(
    options: tuple[str, ...], is_on_stdout: bool, run: Run
) -> None:
    ran = run("fix", "-f", "-", "-o", "json", *options, stdin=POD.encode())

    report = msgspec.json.decode(ran.out if is_on_stdout else ran.err)
    assert report["kind"] == "FixReport"
    assert (ran.err if is_on_stdout else ran.out) == ("" if is_on_stdout else FIXED)


def test_a_remaining_finding_has_a_reason_and_makes_the_exit_code(web: Path, run: Run) -> None:
    web.write_text(files.POD + files.BROKEN)

    ran = run("fix", "-f", "web.yaml")

    assert ran.code == 1
    assert "web.yaml:13: TSC003 Pod shop/web-1: spec.topologySpreadConstraints[0]." in ran.out
    assert (
        "    left: which of DoNotSchedule and ScheduleAnyway is intended cannot be known" in ran.out
    )
    assert run("fix", "-f", "web.yaml", "--fail-on", "never").code == 0
    (report,) = run("fix", "-f", "web.yaml", "-o", "json").documents
    assert [finding["instead"] for finding in report["left"]] == [
        "write `DoNotSchedule` to hold the pod back, `ScheduleAnyway` to prefer emptier domains"
    ]


def test_a_disabled_rule_fixes_nothing(web: Path, run: Run) -> None:
    web.write_text(files.DEPLOYMENT.replace("maxSkew: -1", "maxSkew: 1"))
    (web.parent / "config.yaml").write_text(
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
        "rules: {TSC102: {action: 'off'}}\n"
    )

    ran = run("fix", "-f", "web.yaml", "--config", "config.yaml", "--rules", "TSC102")

    assert ran.out == "0 findings fixed in 0 files, 0 left\n"


def test_a_file_that_is_named_twice_is_fixed_once(web: Path, run: Run) -> None:
    (web.parent / "link.yaml").symlink_to("web.yaml")

    ran = run("fix", "-f", "web.yaml", "-f", ".", "-f", "link.yaml")

    assert (ran.code, ran.out.count("TSC001")) == (0, 1)
    assert (web.parent / "link.yaml").is_symlink()


def test_a_read_only_file_is_reported_and_the_others_are_written(web: Path, run: Run) -> None:
    (web.parent / "other.yaml").write_text(POD.replace("web-1", "web-2"))
    web.chmod(0o444)

    ran = run("fix", "-f", ".")

    assert (ran.code, ran.err) == (3, "error: web.yaml: cannot be written: it is read-only\n")
    assert ran.out.splitlines()[1:] == [
        (
            "web.yaml:11: TSC001 Pod shop/web-1: spec.topologySpreadConstraints[0].maxSkew: "
            "Invalid value: 0: must be greater than zero"
        ),
        "    left: the file could not be written",
        "1 finding fixed in 1 file, 1 left",
    ]
    assert web.read_text() == POD


def test_findings_in_a_file_that_could_not_be_written_have_the_lines_as_it_is(
    web: Path, run: Run
) -> None:
    web.write_text(
        POD.replace("    labelSelector: {matchLabels: {app: web}}\n", "").replace("0  # even", "0")
        + "  - maxSkew: 0\n    topologyKey: zone\n    whenUnsatisfiable: Never\n"
    )
    web.chmod(0o444)

    (report,) = run("fix", "-f", "web.yaml", "-o", "json").documents

    lines = web.read_text().splitlines()
    skews = [one["line"] for one in report["left"] if one["rule"] == "TSC001"]
    assert [lines[line - 1].strip() for line in skews] == ["- maxSkew: 0"] * 2
    (unknown,) = (one for one in report["left"] if one["rule"] == "TSC003")
    assert lines[unknown["line"] - 1].strip() == "whenUnsatisfiable: Never"
    assert (report["fixed"], report["changed"]) == ([], [])


def test_an_unreadable_file_is_reported_and_the_others_are_fixed(web: Path, run: Run) -> None:
    (web.parent / "broken.yaml").write_text("{\n")
    (web.parent / "latin.yaml").write_bytes(POD.encode() + b"# \xe9\n")

    ran = run("fix", "-f", ".", "-f", "none.yaml")

    assert ran.code == 3
    assert "error: broken.yaml:" in ran.err
    assert "error: latin.yaml:15: not text: save it as UTF-8" in ran.err
    assert f"error: none.yaml: cannot be read: {os.strerror(errno.ENOENT)}" in ran.err
    assert web.read_text() == FIXED


def test_files_without_manifests_are_skipped_or_errors(web: Path, run: Run) -> None:
    (web.parent / "values.yaml").write_text("replicas: 3\n")

    assert run("fix", "-f", ".").err.startswith("skipped values.yaml: ")
    assert run("fix", "-f", ".", "--strict").code == 3


INVALID = {
    "no file": ([], "Missing option '-f'"),
    "no such rule": (["-f", ".", "--rules", "TSC999"], "'TSC999' is not a rule: use some of"),
    "no such format": (["-f", ".", "-o", "wide"], "'wide' is not one of 'table', 'name', 'json'"),
}


@pytest.mark.parametrize(("args", "message"), INVALID.values(), ids=INVALID.keys())
def test_usage_errors(args: list[str], message: str, web: Path, run: Run) -> None:
    ran = run("fix", *args)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert web.read_text() == POD


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_fixed_file_is_valid(suffix: str, folder: Path, run: Run) -> None:
    path = folder / f"web.{suffix}"
    path.write_text(
        POD if suffix == "yaml" else msgspec.json.encode(msgspec.yaml.decode(POD)).decode()
    )

    assert run("validate", "-f", path.name).code == 1
    assert run("fix", "-f", path.name).code == 0
    assert run("validate", "-f", path.name).code == 0


# another document of the file, whether the file is changed
OTHERS = {
    "cannot be parsed": ("a: [1", False),
    "is a template": ("{{ .Values.x }}", False),
    "is a list": ("- a", True),
    "has no kind": ("apiVersion: v1", True),
}


@pytest.mark.parametrize(("other", "changed"), OTHERS.values(), ids=OTHERS.keys())
def test_only_a_document_that_cannot_be_parsed_protects_its_file(
    web: Path, run: Run, other: str, changed: bool
) -> None:
    web.write_text(f"{POD}---\n{other}\n")

    ran = run("fix", "-f", "web.yaml")

    assert ran.code == 3
    assert web.read_text() == f"{FIXED if changed else POD}---\n{other}\n"


def test_the_report_is_yaml(web: Path, run: Run) -> None:
    ran = run("fix", "-f", "web.yaml", "-o", "yaml")

    report = yaml.safe_load(ran.out)
    assert (ran.code, report["kind"], report["changed"]) == (0, "FixReport", ["web.yaml"])
    assert report["fixed"][0]["resource"] == "pod/web-1"


def test_names_are_those_of_fixed_objects(web: Path, run: Run) -> None:
    web.write_text(f"{POD}---\n{POD.replace('web-1', 'db')}---\n{FIXED}")

    ran = run("fix", "-f", "web.yaml", "-o", "name")

    assert (ran.code, ran.out) == (0, "pod/web-1\npod/db\n")
