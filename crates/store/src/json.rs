//! JSON as `serde_json` writes it, byte for byte, and quicker where texts are long: most of a journal is the
//! output of tools, with a line end to escape every few words.

mod escape;
mod key;

use std::fmt::{self, Display, Write as _};

use serde::ser::{self, Serialize, Serializer};
use serde_json::Error;

use self::escape::escape;

/// The name under which `serde_json` hands out JSON that is to be taken as it is.
const RAW: &str = "$serde_json::private::RawValue";

/// Adds a value.
///
/// # Errors
/// Where `serde_json` fails, too. Then a part of it may have been added.
pub(crate) fn write(value: &impl Serialize, to: &mut Vec<u8>) -> Result<(), Error> {
    value.serialize(Json { to })
}

/// Writes one value.
struct Json<'a> {
    to: &'a mut Vec<u8>,
}

impl Json<'_> {
    fn text(self, text: &str) {
        self.to.push(b'"');
        escape(text.as_bytes(), self.to);
        self.to.push(b'"');
    }

    /// A value that is not worth the trouble.
    fn plain(self, value: impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(self.to, &value)
    }
}

/// Writes many values between brackets.
struct Many<'a> {
    to: &'a mut Vec<u8>,
    is_first: bool,
    /// What comes after the last.
    end: &'static [u8],
}

impl<'a> Json<'a> {
    fn many(self, begin: u8, end: &'static [u8]) -> Many<'a> {
        self.to.push(begin);
        Many { to: self.to, is_first: true, end }
    }

    /// An object with one field, for a variant of an enum.
    fn variant(self, name: &str) -> Self {
        self.to.push(b'{');
        Json { to: self.to }.text(name);
        self.to.push(b':');
        self
    }
}

impl Many<'_> {
    fn next(&mut self) -> Json<'_> {
        if !self.is_first {
            self.to.push(b',');
        }
        self.is_first = false;
        Json { to: self.to }
    }

    fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.next().text(name);
        self.value(value)
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.to.push(b':');
        value.serialize(Json { to: self.to })
    }

    fn end(self) {
        self.to.extend_from_slice(self.end);
    }
}

macro_rules! plain {
    ($($name:ident: $type:ty,)*) => {
        $(fn $name(self, value: $type) -> Result<(), Error> {
            self.plain(value)
        })*
    };
}

impl<'a> Serializer for Json<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Many<'a>;
    type SerializeTuple = Many<'a>;
    type SerializeTupleStruct = Many<'a>;
    type SerializeTupleVariant = Many<'a>;
    type SerializeMap = Many<'a>;
    type SerializeStruct = Fields<'a>;
    type SerializeStructVariant = Many<'a>;

    plain! {
        serialize_bool: bool,
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_f32: f32, serialize_f64: f64, serialize_char: char, serialize_bytes: &[u8],
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        self.text(text);
        Ok(())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.to.push(b'"');
        write!(Escaping(self.to), "{value}").map_err(ser::Error::custom)?;
        self.to.push(b'"');
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.plain(())
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.plain(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.plain(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let inner = self.variant(variant);
        value.serialize(Json { to: inner.to })?;
        inner.to.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Many<'a>, Error> {
        Ok(self.many(b'[', b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Many<'a>, Error> {
        Ok(self.many(b'[', b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Many<'a>, Error> {
        Ok(self.many(b'[', b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Many<'a>, Error> {
        Ok(self.variant(variant).many(b'[', b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Many<'a>, Error> {
        Ok(self.many(b'{', b"}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'a>, Error> {
        Ok(if name == RAW { Fields::Raw(self) } else { Fields::Some(self.many(b'{', b"}")) })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Many<'a>, Error> {
        Ok(self.variant(variant).many(b'{', b"}}"))
    }
}

macro_rules! elements {
    ($($trait:ident: $name:ident,)*) => {
        $(impl ser::$trait for Many<'_> {
            type Ok = ();
            type Error = Error;

            fn $name<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                value.serialize(self.next())
            }

            fn end(self) -> Result<(), Error> {
                Many::end(self);
                Ok(())
            }
        })*
    };
}

elements! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

impl ser::SerializeMap for Many<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        key::write(key, self.next().to)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.value(value)
    }

    fn end(self) -> Result<(), Error> {
        Many::end(self);
        Ok(())
    }
}

impl ser::SerializeStructVariant for Many<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), Error> {
        Many::end(self);
        Ok(())
    }
}

/// The fields of a struct.
enum Fields<'a> {
    Some(Many<'a>),
    /// The one field of JSON that is to be taken as it is.
    Raw(Json<'a>),
}

impl ser::SerializeStruct for Fields<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        match self {
            Self::Some(fields) => fields.field(name, value),
            Self::Raw(json) => key::write_raw(value, json.to),
        }
    }

    fn end(self) -> Result<(), Error> {
        if let Self::Some(fields) = self {
            fields.end();
        }
        Ok(())
    }
}

/// Takes the pieces of a text.
struct Escaping<'a>(&'a mut Vec<u8>);

impl fmt::Write for Escaping<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        escape(piece.as_bytes(), self.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
