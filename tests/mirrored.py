"""Which test files are those of a module."""

from pathlib import Path

ROOT = Path(__file__).parent.parent


def mirrored_tests(module: Path) -> Path:
    """Return the test file of the same name at the mirrored place; paths from the root."""
    folder = module.parent.relative_to("webhook") if module.parts[0] == "webhook" else module.parent
    return Path("tests", folder, f"test_{module.name}")


def own_tests(module: Path) -> tuple[Path, ...]:
    """List the mirrored test file and those that continue it: ``test_x_faults.py`` of ``x.py``."""
    tests = mirrored_tests(module)
    continued = (
        path
        for path in sorted((ROOT / tests).parent.glob(f"{tests.stem}_*.py"))
        if not (ROOT / module).with_name(path.name.removeprefix("test_")).exists()
    )
    return (tests, *(path.relative_to(ROOT) for path in continued))
