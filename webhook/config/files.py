"""
Read configuration files with ``load``; ``documents`` interprets their text.

Without a file, pydantic is not loaded: it takes longer to import than most commands to run.
"""

from datetime import timedelta

from webhook.config.configuration import Configuration
from webhook.config.filetext import Read, read_text
from webhook.config.lifetimes import LEAST_CA_OVERLAP
from webhook.errors import CombinedConfigError, ConfigError


def load(
    config: str = "",
    scheduler_config: str = "",
    *,
    least_overlap: timedelta = LEAST_CA_OVERLAP,
    read: Read | None = None,
) -> Configuration:
    """
    Read and check the configuration; the default one, without profiles, if no path is given.

    Args:
        config: Path of a ``SpreadConfiguration``; empty if there is none.
        scheduler_config: Path of a kube-scheduler file instead; empty if there is none.
        least_overlap: Shortest valid ``caOverlap``.
        read: Reads each file as text; None: ``read_text``.

    Raises:
        CombinedConfigError: All errors, including files that cannot be read.
    """
    if config and scheduler_config:
        problem = "cannot be given together with --config: name the file in a profile there, as "
        example = "`schedulerConfiguration: kube-scheduler.yaml`"
        raise CombinedConfigError([ConfigError(f"{problem}{example}", "--scheduler-config")])
    if not config and not scheduler_config:
        return Configuration()
    file = config or scheduler_config
    try:
        text = (read or read_text)(file)
    except ConfigError as error:
        raise CombinedConfigError([error]) from error
    # Imported for a file only: it loads pydantic.
    from webhook.config.documents import check, check_scheduler  # noqa: PLC0415
    from webhook.config.validation import read_document  # noqa: PLC0415

    document = read_document(text, file)
    if scheduler_config:
        return check_scheduler(document)
    return check(document, read or read_text, least_overlap=least_overlap)
