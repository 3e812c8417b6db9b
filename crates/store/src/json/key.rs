//! The keys of objects, and JSON that is taken as it is: values that are nearly always texts.

use serde::ser::{Impossible, Serialize, SerializeMap, Serializer};
use serde_json::Error;

use super::Json;

/// Adds the key of an object.
pub(super) fn write<T: Serialize + ?Sized>(key: &T, to: &mut Vec<u8>) -> Result<(), Error> {
    if key.serialize(Text { to, is_raw: false })? {
        return Ok(());
    }
    // What other keys look like `serde_json` knows: `{"key":null}`.
    let object = serde_json::to_vec(&Only(key))?;
    let quoted = object.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b":null}"));
    to.extend_from_slice(quoted.unwrap_or_default());
    Ok(())
}

/// Adds JSON that is handed over as a text.
pub(super) fn write_raw<T: Serialize + ?Sized>(json: &T, to: &mut Vec<u8>) -> Result<(), Error> {
    json.serialize(Text { to, is_raw: true }).map(drop)
}

/// An object with this key alone.
struct Only<'a, T: ?Sized>(&'a T);

impl<T: Serialize + ?Sized> Serialize for Only<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, &())?;
        map.end()
    }
}

/// Adds a text, and tells whether it was one.
struct Text<'a> {
    to: &'a mut Vec<u8>,
    is_raw: bool,
}

macro_rules! no_text {
    ($($name:ident: $type:ty,)*) => {
        $(fn $name(self, _: $type) -> Result<bool, Error> {
            Ok(false)
        })*
    };
}

type No = Impossible<bool, Error>;

impl Serializer for Text<'_> {
    type Ok = bool;
    type Error = Error;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = No;
    type SerializeStruct = No;
    type SerializeStructVariant = No;

    no_text! {
        serialize_bool: bool,
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_f32: f32, serialize_f64: f64, serialize_char: char, serialize_bytes: &[u8],
        serialize_unit_struct: &'static str,
    }

    fn serialize_str(self, text: &str) -> Result<bool, Error> {
        if self.is_raw {
            self.to.extend_from_slice(text.as_bytes());
        } else {
            Json { to: self.to }.text(text);
        }
        Ok(true)
    }

    fn serialize_none(self) -> Result<bool, Error> {
        Ok(false)
    }

    fn serialize_unit(self) -> Result<bool, Error> {
        Ok(false)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<bool, Error> {
        Ok(false)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<bool, Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<bool, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<bool, Error> {
        Ok(false)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<No, Error> {
        Err(no_key())
    }

    fn serialize_tuple(self, _: usize) -> Result<No, Error> {
        Err(no_key())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<No, Error> {
        Err(no_key())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<No, Error> {
        Err(no_key())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<No, Error> {
        Err(no_key())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<No, Error> {
        Err(no_key())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<No, Error> {
        Err(no_key())
    }
}

fn no_key() -> Error {
    serde::ser::Error::custom("key must be a string")
}
