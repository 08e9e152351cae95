"""What all parts of a configuration file have in common: how strictly they are read."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Int32: TypeAlias = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]  # Go's int32


class Written(BaseModel):
    """A part of a file of ours: every key is known, no value is bent into another type."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
    )


class WrittenForOthers(Written):
    """A part of a file that another program reads: keys that do not concern us are left alone."""

    model_config = ConfigDict(extra="ignore")
