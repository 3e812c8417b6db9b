"""What the types of tools are made of: pydantic's models if pydantic is there, else dataclasses."""

import dataclasses
import functools
import types
import typing

try:
    import pydantic

    IS_PYDANTIC = hasattr(pydantic, "TypeAdapter")
except ImportError:
    IS_PYDANTIC = False


if IS_PYDANTIC:

    class Model(pydantic.BaseModel):
        """Data of a tool. Fields are attributes, and items by their name in JSON."""

        model_config = pydantic.ConfigDict(populate_by_name=True, extra="allow", protected_namespaces=())

        def __getitem__(self, key):
            for name, info in type(self).model_fields.items():
                if key in (name, info.alias):
                    return getattr(self, name)
            return (self.__pydantic_extra__ or {})[key]

    def field(wire, default=...):
        """A field that has another name in JSON."""
        return pydantic.Field(default, alias=wire)

    def build(kind, data):
        """The data as this type; raises ValueError if they do not fit."""
        return pydantic.TypeAdapter(kind).validate_python(data)

else:

    class Model:
        """Data of a tool. Fields are attributes, and items by their name in JSON."""

        def __init_subclass__(cls, **rest):
            super().__init_subclass__(**rest)
            dataclasses.dataclass(kw_only=True)(cls)

        def __getitem__(self, key):
            for known in dataclasses.fields(self):
                if key in (known.name, _wire(known)):
                    return getattr(self, known.name)
            return self.__dict__[key]

        def model_dump(self, **_):
            """The data as JSON has them. What may be left out and is None is left out."""
            dumped = {}
            for known in dataclasses.fields(self):
                value = getattr(self, known.name)
                if value is not None or known.default is dataclasses.MISSING:
                    dumped[_wire(known)] = _dumped(value)
            return dumped

    def field(wire, default=dataclasses.MISSING):
        """A field that has another name in JSON."""
        return dataclasses.field(default=default, metadata={"wire": wire})

    def build(kind, data):
        """The data as this type; raises ValueError if they do not fit."""
        if kind is typing.Any:
            return data
        if isinstance(kind, type) and issubclass(kind, Model):
            return _model(kind, data)
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Literal:
            if data in arguments:
                return data
        elif origin in (typing.Union, types.UnionType):
            for option in arguments:
                try:
                    return build(option, data)
                except ValueError:
                    pass
        elif origin is list:
            if isinstance(data, list):
                return [build(arguments[0], value) for value in data]
        elif origin is dict:
            if isinstance(data, dict):
                return {key: build(arguments[1], value) for key, value in data.items()}
        elif kind is None or kind is type(None):
            if data is None:
                return None
        elif kind is float:
            if isinstance(data, (int, float)) and not isinstance(data, bool):
                return data
        elif type(data) is kind:
            return data
        raise ValueError("%r is no %s" % (data, kind))

    def _model(kind, data):
        if not isinstance(data, dict):
            raise ValueError("%r is no %s" % (data, kind.__name__))
        hints, rest, values = _hints(kind), dict(data), {}
        for known in dataclasses.fields(kind):
            if _wire(known) in rest:
                values[known.name] = build(hints[known.name], rest.pop(_wire(known)))
            elif known.default is dataclasses.MISSING:
                raise ValueError("%s has no %s" % (kind.__name__, _wire(known)))
        made = kind(**values)
        # What the schema does not tell of is there all the same.
        made.__dict__.update((key, value) for key, value in rest.items() if key not in made.__dict__)
        return made

    @functools.lru_cache(maxsize=None)
    def _hints(kind):
        return typing.get_type_hints(kind)

    def _wire(known):
        return known.metadata.get("wire", known.name)

    def _dumped(value):
        if isinstance(value, Model):
            return value.model_dump()
        if isinstance(value, (list, tuple)):
            return [_dumped(one) for one in value]
        if isinstance(value, dict):
            return {key: _dumped(one) for key, one in value.items()}
        return value
