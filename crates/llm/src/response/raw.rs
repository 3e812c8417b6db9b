//! A provider's body, kept as it came.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A provider's body, byte for byte. It is read only if somebody asks for it: most never do.
#[derive(Clone, PartialEq, Eq)]
pub struct RawBody(Bytes);

impl RawBody {
    /// Keeps a body.
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self(body.into())
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// What the body says; `null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.0).unwrap_or_default()
    }
}

impl From<&Value> for RawBody {
    fn from(value: &Value) -> Self {
        Self::new(value.to_string())
    }
}

impl fmt::Debug for RawBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawBody({})", String::from_utf8_lossy(&self.0))
    }
}

impl Serialize for RawBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::from(&value))
    }
}
