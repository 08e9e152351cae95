from pathlib import Path

import pytest

from webhook.manifests.pathfilter import NO_FILTER, PathFilter, is_inside

# pattern, path below the root, whether it is left out
PATTERNS = {
    "a name": ("vendor", "a/vendor", True),
    "a name with a slash at its end": ("vendor/", "vendor", True),
    "a part of a name": ("vendor", "vendors", False),
    "a pattern of names": ("*.gen.yaml", "a/b/x.gen.yaml", True),
    "a path": ("charts/old", "charts/old", True),
    "a path elsewhere": ("charts/old", "a/charts/old", False),
    "a pattern of paths": ("charts/*/tests", "charts/a/b/tests", True),
}


@pytest.mark.parametrize(("pattern", "path", "is_excluded"), PATTERNS.values(), ids=PATTERNS.keys())
def test_patterns(pattern: str, path: str, is_excluded: bool, tmp_path: Path) -> None:
    path_filter = PathFilter(tmp_path, (pattern,))

    assert path_filter.excludes(tmp_path / path) is is_excluded


def test_without_patterns_nothing_is_left_out(tmp_path: Path) -> None:
    assert not NO_FILTER.excludes(tmp_path)


def test_a_confined_filter_leaves_out_links_to_elsewhere(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").touch()
    (root / "inside").touch()
    (root / "good").symlink_to("inside")
    (root / "bad").symlink_to("../secret")
    (root / "loop").symlink_to("loop")
    confined = PathFilter(root, confined=True)

    assert [path.name for path in sorted(root.iterdir()) if confined.excludes(path)] == [
        "bad",
        "loop",
    ]
    assert not PathFilter(root).excludes(root / "bad")


def test_a_null_byte_leads_nowhere(tmp_path: Path) -> None:
    assert not is_inside(tmp_path / "a\0b", tmp_path)
