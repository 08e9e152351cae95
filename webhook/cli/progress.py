"""
Progress of a command on stderr: ``progress_bar``.

Its bars are erased when they are done, and invisible unless stderr is animated: then rich is not
loaded.
"""

import sys
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from webhook.cli.terminal import is_animated

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

T = TypeVar("T")


class ProgressBar:
    """The bars of tasks."""

    def __init__(self, progress: "Progress | None") -> None:
        """Take what shows the bars; None for nothing."""
        self._progress = progress
        self._tasks: list[TaskID] = []

    def __enter__(self) -> Self:
        """Show the bars while the context lasts."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Erase the bars."""
        self.stop()

    def start(self) -> None:
        """Show the bars."""
        if self._progress is not None:
            self._progress.start()

    def stop(self) -> None:
        """Erase the bars, so that a line can be written."""
        if self._progress is not None:
            self._progress.stop()

    def add_task(self, description: str, total: int | None) -> int:
        """Add a bar, and return its number; ``total`` is None if it is unknown."""
        if self._progress is not None:
            self._tasks.append(self._progress.add_task(description, total=total))
        return len(self._tasks) - 1

    def update(
        self,
        task: int,
        *,
        description: str | None = None,
        total: int | None = None,
        completed: int | None = None,
        advance: int | None = None,
    ) -> None:
        """Change what is not None of a bar; ``advance`` adds to what is completed."""
        if self._progress is not None:
            self._progress.update(
                self._tasks[task],
                description=description,
                total=total,
                completed=completed,
                advance=advance,
            )

    def track(self, items: Iterable[T], description: str) -> Iterable[T]:
        """Yield items while a bar shows how many of them were taken."""
        if self._progress is None:
            return items
        return self._progress.track(items, description=description)


def progress_bar() -> ProgressBar:
    """Create a progress bar on stderr, erased when done; invisible unless stderr is animated."""
    if not is_animated(sys.stderr):
        return ProgressBar(None)
    # Imported for an animated terminal only: it takes 30 ms.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    return ProgressBar(Progress(console=Console(file=sys.stderr), transient=True))
