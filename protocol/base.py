"""The base of every wire model: camelCase outside, snake_case inside, frozen, nothing unknown.

Results and notifications are strict, so that what we send is what the schema says. Parameters of
requests ignore what they do not know, because clients of every age send more than we read.
"""

from functools import cached_property
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

UNSIGNED_32_MAX = 2**32 - 1
T = TypeVar("T")


class WireModel(BaseModel):
    """What the server sends: every key is written, also the null ones; no other key exists."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        frozen=True,
        extra="forbid",
        protected_namespaces=(),
        defer_build=True,
    )

    def to_json(self) -> bytes:
        """The JSON text of this value as it goes on the wire."""
        return self.__pydantic_serializer__.to_json(self, by_alias=True)

    def to_wire(self) -> dict[str, Any]:
        """This value as plain JSON types with wire names."""
        return self.model_dump(mode="json", by_alias=True)


class RequestParams(WireModel):
    """What a client sends: unknown keys are ignored, types are never coerced."""

    model_config = ConfigDict(extra="ignore", strict=True)


class StrictParams(WireModel):
    """Parameters of memoryd's own methods: an unknown key is a mistake and is told."""

    model_config = ConfigDict(extra="forbid", strict=True)


class EmptyParams(RequestParams):
    """Of methods that take none."""


class EmptyResult(WireModel):
    """Says only that it is done."""


U32 = Annotated[int, Field(ge=0, le=UNSIGNED_32_MAX)]
SortDirection = Literal["asc", "desc"]
HistoryMode = Literal["legacy", "paginated"]


class Reader(Generic[T]):
    """Reads a shape that is a choice between models; built when it is first needed."""

    def __init__(self, shape: Any) -> None:
        self._shape = shape

    def read(self, value: object) -> T | None:
        """The value as that shape; None if it does not fit."""
        try:
            return self._adapter.validate_python(value)
        except ValidationError:
            return None

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self._shape)
