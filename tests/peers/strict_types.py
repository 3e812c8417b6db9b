"""Checks a JSON value against a Python type, strictly.

The vendors publish their wires as TypedDicts and pydantic models. Checking with pydantic alone would let
much pass: lists declared as Iterable are not looked into, unknown fields of TypedDicts and unknown values
of enums are let through, and text is taken for numbers. Here a field that the type does not name is a
mistake, at every depth.
"""

import base64
import binascii
import collections.abc
import enum
import functools
import types
import typing

import pydantic
import typing_extensions

Mistakes = list[str]

UNIONS = (typing.Union, types.UnionType)
LISTS = (list, tuple, collections.abc.Iterable, collections.abc.Sequence)
MAPS = (dict, collections.abc.Mapping)
QUALIFIERS = (typing.Required, typing.NotRequired, typing.Annotated, typing_extensions.Required)
# A block tells its kind in one of these: the way to the alternative that was meant.
TAGS = ("type", "role")


def check(value: object, expected: object, path: str = "body") -> Mistakes:
    """What is wrong with the value, one line for each mistake."""
    origin, args = typing.get_origin(expected), typing.get_args(expected)
    if origin in QUALIFIERS:
        return check(value, args[0], path)
    if isinstance(expected, typing_extensions.TypeAliasType):
        return check(value, expected.__value__, path)
    if origin in UNIONS:
        return check_union(value, args, path)
    if origin is typing.Literal:
        return [] if any(value == a and type(value) is type(a) for a in args) else wrong(value, f"one of {args}", path)
    if origin in MAPS or expected in MAPS:
        return check_map(value, args[1] if args else object, path)
    if origin in LISTS or expected in LISTS or getattr(origin, "__name__", "") == "SequenceNotStr":
        return check_list(value, args[0] if args else object, path)
    if typing_extensions.is_typeddict(expected):
        return check_fields(value, typed_dict_fields(expected), path)
    if isinstance(expected, type) and issubclass(expected, pydantic.BaseModel):
        return check_fields(value, model_fields(expected), path)
    return check_plain(value, expected, path)


def check_plain(value: object, expected: object, path: str) -> Mistakes:
    if expected in (object, typing.Any):
        return []
    if expected in (None, type(None)):
        return [] if value is None else wrong(value, "null", path)
    if expected is float:
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
    elif expected is int:
        good = isinstance(value, int) and not isinstance(value, bool)
    elif expected is bytes:
        good = isinstance(value, str) and is_base64(value)
    elif isinstance(expected, type) and issubclass(expected, enum.Enum):
        # The one vendor that uses enums reads them in any case.
        good = isinstance(value, str) and value.upper() in {str(member.value).upper() for member in expected}
    elif expected in (str, bool):
        good = isinstance(value, expected)
    else:
        good = False
    return [] if good else wrong(value, getattr(expected, "__name__", str(expected)), path)


def check_union(value: object, alternatives: tuple, path: str) -> Mistakes:
    tries = [check(value, alternative, path) for alternative in alternatives]
    if any(not mistakes for mistakes in tries):
        return []
    # Nearest is the alternative whose tag fits, then the one with the fewest mistakes.
    tag_paths = tuple(f"{path}.{tag} " for tag in TAGS)
    misfit = lambda mistakes: any(m.startswith((f"{path} ", *tag_paths)) for m in mistakes)
    return min(tries, key=lambda mistakes: (misfit(mistakes), len(mistakes)))


def check_list(value: object, item: object, path: str) -> Mistakes:
    if not isinstance(value, list):
        return wrong(value, "a list", path)
    return [mistake for i, v in enumerate(value) for mistake in check(v, item, f"{path}[{i}]")]


def check_map(value: object, item: object, path: str) -> Mistakes:
    if not isinstance(value, dict):
        return wrong(value, "an object", path)
    return [mistake for key, v in value.items() for mistake in check(v, item, f"{path}.{key}")]


def check_fields(value: object, fields: dict[str, tuple[object, bool]], path: str) -> Mistakes:
    if not isinstance(value, dict):
        return wrong(value, "an object", path)
    mistakes = [f"{path}.{name} is missing" for name, (_, required) in fields.items() if required and name not in value]
    for name, v in value.items():
        if name in fields:
            mistakes += check(v, fields[name][0], f"{path}.{name}")
        else:
            mistakes.append(f"{path}.{name} is not a field of this type")
    return mistakes


@functools.cache
def typed_dict_fields(cls: type) -> dict[str, tuple[object, bool]]:
    """Name, type and whether it is required. The class itself does not know the last where the
    annotations are text, so the qualifiers are looked at again."""
    fields = {}
    for name, hint in typing_extensions.get_type_hints(cls, include_extras=True).items():
        required = name in cls.__required_keys__
        qualifier = typing.get_origin(hint)
        if qualifier in (typing.Required, typing_extensions.Required):
            required = True
        elif qualifier in (typing.NotRequired, typing_extensions.NotRequired):
            required = False
        fields[name] = (hint, required)
    return fields


@functools.cache
def model_fields(cls: type[pydantic.BaseModel]) -> dict[str, tuple[object, bool]]:
    # Types that are named before they are defined are looked up only now.
    cls.model_rebuild()
    fields = {}
    for name, field in cls.model_fields.items():
        fields[field.alias or name] = (field.annotation, field.is_required())
        # The vendor who uses aliases takes both spellings, and its own SDK sends both.
        if field.alias and cls.model_config.get("populate_by_name"):
            fields[name] = (field.annotation, False)
    return fields


def is_base64(text: str) -> bool:
    padded = text.replace("-", "+").replace("_", "/")
    try:
        base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except binascii.Error:
        return False
    return True


def wrong(value: object, expected: str, path: str) -> Mistakes:
    shown = repr(value)
    return [f"{path} should be {expected}, not {shown if len(shown) < 80 else shown[:77] + '...'}"]
