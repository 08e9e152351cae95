"""Build policy profiles from our configuration file and the kube-scheduler files it names."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from webhook.config import scheduler
from webhook.config.configuration import CONFIGURATION_KIND
from webhook.config.constraints import DefaultConstraint
from webhook.config.filetext import Read
from webhook.config.messages import find_repeated_names, suggest_choice
from webhook.config.models import parse_selector
from webhook.config.scheduler import SchedulerDefaults
from webhook.config.spread import ProfileFields, ProfileModel
from webhook.config.validation import DocumentValidation, read_document
from webhook.errors import CombinedConfigError, ConfigError
from webhook.manifests import Document
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER, Mode, Profile
from webhook.policy.paths import FieldPath, find_value, is_array

_PROFILES, _FILE = "profiles", "schedulerConfiguration"


def read_defaults(document: Document) -> list[SchedulerDefaults]:
    """
    Read the default constraints from a kube-scheduler file.

    Raises:
        CombinedConfigError: All errors in it.
    """
    reading = DocumentValidation(document)
    if document.kind == CONFIGURATION_KIND:
        reading.refuse(f"is {CONFIGURATION_KIND}: give the file with --config", ("kind",))
        reading.finish()
    found = scheduler.read_scheduler_defaults(reading)
    reading.finish()
    return found


def build_profile(
    name: str, written: ProfileFields, defaults: Iterable[DefaultConstraint]
) -> Profile:
    """Build the profile of validated fields."""
    match = written.match
    return Profile(
        name=name,
        mode=written.mode or Mode.APPLY,
        namespace_selector=parse_selector(match.namespace_selector),
        object_selector=parse_selector(match.object_selector),
        owner_kinds=None if match.owner_kinds is None else frozenset(match.owner_kinds),
        scheduler_names=frozenset(match.scheduler_names or (DEFAULT_SCHEDULER,)),
        merge=written.merge,
        complete_selectors=written.complete_selectors,
        scale_down=written.scale_down,
        gangs=written.gangs,
        allows_exceptions=written.exemptible,
        actions={rule: one.action for rule, one in written.rules.items() if one.action},
        exemptible={
            rule: one.exemptible
            for rule, one in written.rules.items()
            if one.exemptible is not None
        },
        constraints=tuple(entry.constraint for entry in defaults),
    )


class ProfileMaker:
    """
    Builder of the profiles of one configuration.

    Attributes:
        files: Scheduler configurations read so far, by path. A relative path is relative to the
            folder of the file that names it.
    """

    def __init__(self, reading: DocumentValidation, read: Read) -> None:
        """Start with no file read; ``reading`` collects the errors."""
        self._reading = reading
        self._read = read
        self.files: dict[str, list[SchedulerDefaults]] = {}

    def make(self, written: ProfileModel, index: int) -> list[Profile]:
        """Build the profiles of one entry: several if its file has several schedulers."""
        profile = build_profile(written.name, written, written.default_constraints or ())
        if written.scheduler_configuration is None:
            return [profile]
        path: FieldPath = (_PROFILES, index)
        found = self._defaults(written.scheduler_configuration, (*path, _FILE))
        return self._of_schedulers(profile, found, written.match.scheduler_names or (), path)

    def check_unread(self) -> None:
        """Record what is wrong with the names and files of profiles that were not read."""
        written = find_value(self._reading.document.value, (_PROFILES,))
        entries = written if is_array(written) else []
        names = (_find_text(entry, "name") for entry in entries)
        for path, problem in find_repeated_names(names, "profile"):
            self._reading.refuse(problem, (_PROFILES, *path))
        for index, entry in enumerate(entries):
            named = _find_text(entry, _FILE)
            if named is not None:
                self._defaults(named, (_PROFILES, index, _FILE))

    def _defaults(self, named: str, path: FieldPath) -> list[SchedulerDefaults]:
        file = str(PurePath(self._reading.document.source).parent / named)
        if file not in self.files:
            self.files[file] = []
            try:
                self.files[file] = read_defaults(read_document(self._read(file), file))
            except CombinedConfigError as errors:
                for error in errors.errors:
                    self._reading.add_error(error, path)
            except ConfigError as error:
                self._reading.refuse(error.problem, path)
        return self.files[file]

    def _of_schedulers(
        self,
        profile: Profile,
        found: list[SchedulerDefaults],
        requested: tuple[str, ...],
        path: FieldPath,
    ) -> list[Profile]:
        names = {defaults.scheduler for defaults in found if defaults.scheduler}
        for i, name in enumerate(requested):
            if names and name not in names:
                choice = suggest_choice(name, sorted(names))
                problem = f"{choice}; the scheduler configuration has no other"
                self._reading.refuse(problem, (*path, "match", "schedulerNames", i))
        kept = [one for one in found if not one.scheduler or one.scheduler in (requested or names)]
        if len(kept) == 1:
            return [complete_profile(profile, kept[0])]
        named = (replace(profile, name=f"{profile.name}/{one.scheduler}") for one in kept)
        return list(map(complete_profile, named, kept))


def _find_text(entry: Any, key: str) -> str | None:
    found = find_value(entry, (key,))
    return found if isinstance(found, str) else None


def complete_profile(profile: Profile, defaults: SchedulerDefaults) -> Profile:
    """Add the constraints of a scheduler, and restrict the profile to its pods if it has a name."""
    if defaults.scheduler:
        profile = replace(profile, scheduler_names=frozenset({defaults.scheduler}))
    return replace(profile, constraints=defaults.constraints, system=defaults.system)
