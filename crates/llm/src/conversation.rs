//! The messages of a conversation, shared between those who hold it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Message;

/// The messages of a conversation. It is used as a `Vec` of them. Clones share them until one of the
/// clones is changed, so that a conversation that is sent again and again is not copied each time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages(Arc<Vec<Message>>);

impl Messages {
    /// The messages, by value.
    pub fn into_vec(self) -> Vec<Message> {
        Arc::unwrap_or_clone(self.0)
    }
}

impl Deref for Messages {
    type Target = Vec<Message>;

    fn deref(&self) -> &Vec<Message> {
        &self.0
    }
}

impl DerefMut for Messages {
    fn deref_mut(&mut self) -> &mut Vec<Message> {
        Arc::make_mut(&mut self.0)
    }
}

impl From<Vec<Message>> for Messages {
    fn from(messages: Vec<Message>) -> Self {
        Self(Arc::new(messages))
    }
}

impl<const N: usize> From<[Message; N]> for Messages {
    fn from(messages: [Message; N]) -> Self {
        Vec::from(messages).into()
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a Message;
    type IntoIter = std::slice::Iter<'a, Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl IntoIterator for Messages {
    type Item = Message;
    type IntoIter = std::vec::IntoIter<Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl PartialEq<&[Message]> for Messages {
    fn eq(&self, other: &&[Message]) -> bool {
        **self == **other
    }
}

impl PartialEq<Messages> for [Message] {
    fn eq(&self, other: &Messages) -> bool {
        *self == **other
    }
}

impl PartialEq<Vec<Message>> for Messages {
    fn eq(&self, other: &Vec<Message>) -> bool {
        **self == *other
    }
}

impl<const N: usize> PartialEq<[Message; N]> for Messages {
    fn eq(&self, other: &[Message; N]) -> bool {
        **self == *other
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Vec::deserialize(d).map(|messages| Self(Arc::new(messages)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_until_one_is_changed() {
        let one = Messages::from([Message::user("a")]);
        let mut two = one.clone();
        assert_eq!(one.as_ptr(), two.as_ptr());
        two.push(Message::user("b"));
        assert_eq!((one.len(), two.len()), (1, 2));
        drop(one);
        let before = two.as_ptr();
        two.reserve(0);
        assert_eq!(two.as_ptr(), before, "the last one changes it where it is");
        assert_eq!(two.into_vec().len(), 2);
    }
}
