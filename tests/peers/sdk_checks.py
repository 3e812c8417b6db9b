"""What the drivers of the SDKs share: the conversation's facts, and how a check is told."""

import sys

import pydantic

KEY = "twin-key"
HELLO = "Hello from the twin, which speaks this wire."
WEATHER = {"Paris": "rain", "Oslo": "snow", "Rome": "sun"}
WEATHER_ANSWER = "It rains in Paris and snows in Oslo."
CHAIN_ANSWER = "Three times the same sun."
CITY_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "The city's name"}},
    "required": ["city"],
    "additionalProperties": False,
}


class Person(pydantic.BaseModel):
    name: str
    age: int


ADA = Person(name="Ada", age=36)


def equal(what: str, seen: object, expected: object) -> None:
    if seen != expected:
        sys.exit(f"failed: {what}\n  expected {expected!r}\n  saw      {seen!r}")
    print(f"passed: {what}")


def true(what: str, holds: object, seen: object = "") -> None:
    if not holds:
        sys.exit(f"failed: {what} {seen!r}")
    print(f"passed: {what}")


def raises(what: str, expected: type[Exception], call, *args, **kwargs) -> Exception:
    """The error of the class that the SDK promises for this."""
    try:
        call(*args, **kwargs)
    except expected as error:
        print(f"passed: {what}")
        return error
    except Exception as error:
        sys.exit(f"failed: {what}: expected {expected.__name__}, saw {type(error).__name__}: {error}")
    sys.exit(f"failed: {what}: expected {expected.__name__}, saw no error")


def address() -> str:
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} http://127.0.0.1:PORT")
    return sys.argv[1].rstrip("/")
