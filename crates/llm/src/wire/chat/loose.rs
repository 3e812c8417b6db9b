//! Values that servers spell in several ways, read without failing and, where the bytes allow it,
//! without copying.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A string; anything else counts as an empty one.
#[derive(Debug, Default)]
pub(super) struct Loose<'a>(pub(super) Cow<'a, str>);

/// A number of seconds or a place in a list; anything else counts as zero.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Number(pub(super) u64);

/// Arguments of a call: a string of JSON, or the JSON itself.
#[derive(Debug, Default)]
pub(super) struct Arguments<'a>(pub(super) Cow<'a, str>);

/// Content: a string, or a list of parts.
#[derive(Debug)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Value>),
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::Text(Cow::Borrowed(""))
    }
}

/// What a visitor makes of the kinds of JSON values; the default is nothing.
trait Shape<'a>: Default {
    fn text(_text: Cow<'a, str>) -> Self {
        Self::default()
    }
    fn number(_number: u64) -> Self {
        Self::default()
    }
    fn list<A: SeqAccess<'a>>(mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn object<A: MapAccess<'a>>(mut entries: A) -> Result<Self, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl<'a> Shape<'a> for Loose<'a> {
    fn text(text: Cow<'a, str>) -> Self {
        Self(text)
    }
    fn number(number: u64) -> Self {
        Self(Cow::Owned(number.to_string()))
    }
}

impl Shape<'_> for Number {
    fn number(number: u64) -> Self {
        Self(number)
    }
}

impl<'a> Shape<'a> for Arguments<'a> {
    fn text(text: Cow<'a, str>) -> Self {
        Self(text)
    }
    fn object<A: MapAccess<'a>>(entries: A) -> Result<Self, A::Error> {
        let value = Value::deserialize(MapAccessDeserializer::new(entries))?;
        Ok(Self(Cow::Owned(value.to_string())))
    }
}

impl<'a> Shape<'a> for Content<'a> {
    fn text(text: Cow<'a, str>) -> Self {
        Self::Text(text)
    }
    fn list<A: SeqAccess<'a>>(mut items: A) -> Result<Self, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = items.next_element()? {
            parts.push(part);
        }
        Ok(Self::Parts(parts))
    }
}

struct ShapeVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Shape<'de>> Visitor<'de> for ShapeVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(Cow::Owned(text.to_owned())))
    }
    fn visit_string<E>(self, text: String) -> Result<T, E> {
        Ok(T::text(Cow::Owned(text)))
    }
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::number(number))
    }
    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(u64::try_from(number).map_or_else(|_| T::default(), T::number))
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float-to-int cast saturates"
    )]
    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::number(number as u64))
    }
    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        T::list(items)
    }
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
        T::object(entries)
    }
}

macro_rules! deserialize_any_shape {
    ($($type:ty),*) => {$(
        impl<'de: 'a, 'a> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                d.deserialize_any(ShapeVisitor(std::marker::PhantomData))
            }
        }
    )*};
}

deserialize_any_shape!(Loose<'a>, Arguments<'a>, Content<'a>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ShapeVisitor(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_borrowed_and_everything_else_is_survived() {
        let read = |json: &'static str| serde_json::from_str::<Loose<'_>>(json).unwrap().0;
        assert!(matches!(read(r#""plain""#), Cow::Borrowed("plain")));
        assert_eq!(read(r#""a\nb""#), "a\nb");
        assert_eq!(read("7"), "7");
        for other in ["null", "true", "[1, {}]", r#"{"a": [1]}"#, "-3", "\"\""] {
            assert_eq!(read(other), "", "{other}");
        }
    }

    #[test]
    fn arguments_may_be_json_itself() {
        let read = |json: &'static str| serde_json::from_str::<Arguments<'_>>(json).unwrap().0;
        assert_eq!(read(r#""{\"a\":1}""#), r#"{"a":1}"#);
        assert_eq!(read(r#"{"b": 1, "a": [2]}"#), r#"{"b":1,"a":[2]}"#);
        assert_eq!(read("null"), "");
    }

    #[test]
    fn numbers_may_be_floats() {
        let read = |json: &'static str| serde_json::from_str::<Number>(json).unwrap().0;
        assert_eq!((read("3"), read("3.9"), read("-1"), read("\"x\"")), (3, 3, 0, 0));
    }
}
