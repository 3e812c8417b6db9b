//! Money, as integers.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// An amount of US dollars, in billionths, so that sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(pub i64);

impl Usd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount from dollars; fractions below a billionth are rounded.
    #[expect(clippy::cast_possible_truncation, reason = "a float-to-int cast saturates")]
    pub fn from_dollars(dollars: f64) -> Self {
        Self((dollars * 1e9).round() as i64)
    }

    /// The amount in dollars.
    #[expect(clippy::cast_precision_loss, reason = "for display and for prices, not for sums")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for Usd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Usd {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.dollars();
        if dollars != 0.0 && dollars.abs() < 0.01 {
            write!(f, "${dollars:.6}")
        } else {
            write!(f, "${dollars:.2}")
        }
    }
}

/// What a call cost, and how well that is known. An unknown cost is never a zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "basis", content = "nano_usd", rename_all = "snake_case")]
pub enum Cost {
    /// The provider said so.
    Reported(Usd),
    /// Computed from usage and the catalog's prices.
    Estimated(Usd),
    /// No price is known.
    Unknown,
}

impl Cost {
    /// The amount, if it is known.
    pub fn amount(self) -> Option<Usd> {
        match self {
            Self::Reported(usd) | Self::Estimated(usd) => Some(usd),
            Self::Unknown => None,
        }
    }
}

impl Add for Cost {
    type Output = Self;

    /// A sum is only as well known as its least known part.
    fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Reported(a), Self::Reported(b)) => Self::Reported(a + b),
            (Self::Reported(a) | Self::Estimated(a), Self::Reported(b) | Self::Estimated(b)) => {
                Self::Estimated(a + b)
            }
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reported(usd) => write!(f, "{usd}"),
            Self::Estimated(usd) => write!(f, "about {usd}"),
            Self::Unknown => f.write_str("cost unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_and_keep_their_honesty() {
        let cent = Usd::from_dollars(0.01);
        assert_eq!(Cost::Reported(cent) + Cost::Estimated(cent), Cost::Estimated(Usd::from_dollars(0.02)));
        assert_eq!(Cost::Reported(cent) + Cost::Unknown, Cost::Unknown);
        assert_eq!(Cost::Estimated(Usd::from_dollars(0.0012)).to_string(), "about $0.001200");
        assert_eq!(Usd::from_dollars(f64::NAN), Usd::ZERO);
    }
}
