//! Fresh ids: version 7 UUIDs. The system is asked for randomness once a process and not once an id, because
//! to ask it takes longer than all else that makes a call's context.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{LazyLock, Mutex, PoisonError};

use uuid::{Builder, NoContext, Timestamp};

/// How many ids of one millisecond are numbered.
const NUMBERS: u16 = 1 << 12;

/// An id that nobody has. Later ones of this process sort after earlier ones, also within a millisecond, and
/// when the clock goes back.
pub(crate) fn id() -> String {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static LAST: Mutex<(u64, u16)> = Mutex::new((0, 0));
    let (seconds, nanos) = Timestamp::now(NoContext).to_unix();
    let now = seconds * 1000 + u64::from(nanos / 1_000_000);
    let (millis, number) = {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        *last = after(*last, now);
        *last
    };
    let mut bytes = [0; 10];
    let (high, low) = bytes.split_at_mut(2);
    high.copy_from_slice(&number.to_be_bytes());
    low.copy_from_slice(&KEYS.hash_one((millis, number)).to_be_bytes());
    Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid().simple().to_string()
}

/// The time and the number of the next id.
fn after((millis, number): (u64, u16), now: u64) -> (u64, u16) {
    match number + 1 {
        _ if now > millis => (now, 0),
        NUMBERS => (millis + 1, 0),
        next => (millis, next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_ids_sort_after_earlier_ones_and_are_uuids() {
        let ids: Vec<String> = (0..20_000).map(|_| id()).collect();
        assert!(ids.is_sorted_by(|one, next| one < next));
        let uuid = uuid::Uuid::parse_str(&ids[0]).unwrap();
        assert_eq!(uuid.get_version(), Some(uuid::Version::SortRand));
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
    }

    #[test]
    fn neither_a_full_millisecond_nor_a_clock_that_goes_back_breaks_the_order() {
        assert_eq!(after((5, 7), 6), (6, 0));
        assert_eq!(after((5, 7), 5), (5, 8));
        assert_eq!(after((5, 7), 3), (5, 8));
        assert_eq!(after((5, NUMBERS - 1), 5), (6, 0));
    }
}
