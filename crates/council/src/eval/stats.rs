//! Rates and differences with their intervals, as pure functions.
//!
//! All intervals are for 95 %: of a hundred evaluations of contenders that do not change, about ninety-five have
//! the true value within. They speak of **these tasks**: a contender that passes all of them may fail others.
//! Runs of one task resemble each other, which makes the true spread smaller than that of independent runs, so
//! the intervals are rather too wide than too narrow.

use serde::Serialize;

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A part of a whole, with the interval that the true part is in (Wilson's score interval).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// How many passed.
    pub passed: u64,
    /// How many there were.
    pub of: u64,
    /// The part, from 0 to 1.
    pub rate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Rate {
    /// The rate of `passed` in `of`; none of nothing, and none if more passed than there were.
    ///
    /// ```
    /// let rate = junto_council::eval::stats::Rate::new(81, 263).unwrap();
    /// assert_eq!((format!("{:.4}", rate.low), format!("{:.4}", rate.high)), ("0.2553".into(), "0.3662".into()));
    /// ```
    pub fn new(passed: u64, of: u64) -> Option<Self> {
        if of == 0 || passed > of {
            return None;
        }
        let (n, rate) = (number(of), number(passed) / number(of));
        let square = Z * Z / n;
        let middle = rate + square / 2.0;
        let spread = Z * (rate * (1.0 - rate) / n + square / (4.0 * n)).sqrt();
        let scale = 1.0 + square;
        // At the ends the formula gives 0 and 1 but for rounding.
        let low = if passed == 0 { 0.0 } else { ((middle - spread) / scale).max(0.0) };
        let high = if passed == of { 1.0 } else { ((middle + spread) / scale).min(1.0) };
        Some(Self { passed, of, rate, low, high })
    }

    /// Whether the interval has this value in it.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// What two contenders did in the same cells: the same task, the same repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pairs {
    /// Both passed.
    pub both: u64,
    /// Only the first.
    pub only_first: u64,
    /// Only the second.
    pub only_second: u64,
    /// Neither.
    pub neither: u64,
}

impl Pairs {
    /// Counts these pairs.
    pub fn count(pairs: impl IntoIterator<Item = (bool, bool)>) -> Self {
        let mut counted = Self::default();
        for pair in pairs {
            match pair {
                (true, true) => counted.both += 1,
                (true, false) => counted.only_first += 1,
                (false, true) => counted.only_second += 1,
                (false, false) => counted.neither += 1,
            }
        }
        counted
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.both + self.only_first + self.only_second + self.neither
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the two go together, from -1 to 1, drawn a little towards 0 as Newcombe does it, so that few pairs do
    /// not promise too much.
    fn correlation(&self) -> f64 {
        let [a, b, c, d] = [self.both, self.only_first, self.only_second, self.neither].map(number);
        let rows = (a + b) * (c + d) * (a + c) * (b + d);
        if rows <= 0.0 {
            return 0.0;
        }
        let (product, half) = (a * d - b * c, (a + b + c + d) / 2.0);
        let product = if product > 0.0 { (product - half).max(0.0) } else { product };
        product / rows.sqrt()
    }
}

/// How much more often the first passes than the second, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// What it was counted from.
    pub pairs: Pairs,
    /// The first's rate less the second's, from -1 to 1.
    pub difference: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// What a difference shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The first is better.
    Better,
    /// The first is worse.
    Worse,
    /// Neither can be said from so many runs.
    Nothing,
}

impl Difference {
    /// The difference in these pairs, by Newcombe's score interval for paired data; none of no pairs.
    ///
    /// ```
    /// use junto_council::eval::stats::{Difference, Pairs, Shown};
    /// let pairs = Pairs { both: 36, only_first: 12, only_second: 2, neither: 0 };
    /// let lift = Difference::of(pairs).unwrap();
    /// assert_eq!(format!("{:.2} from {:.4} to {:.4}", lift.difference, lift.low, lift.high), "0.20 from 0.0569 to 0.3404");
    /// assert_eq!(lift.shown(), Shown::Better);
    /// ```
    pub fn of(pairs: Pairs) -> Option<Self> {
        let n = pairs.len();
        let first = Rate::new(pairs.both + pairs.only_first, n)?;
        let second = Rate::new(pairs.both + pairs.only_second, n)?;
        let phi = pairs.correlation();
        let reach =
            |one: f64, other: f64| (one * one - 2.0 * phi * one * other + other * other).max(0.0).sqrt();
        let difference = first.rate - second.rate;
        let low = difference - reach(first.rate - first.low, second.high - second.rate);
        let high = difference + reach(first.high - first.rate, second.rate - second.low);
        Some(Self { pairs, difference, low: low.max(-1.0), high: high.min(1.0) })
    }

    /// Whether the interval has this value in it.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// What it shows: something only if the interval is all on one side of zero.
    pub fn shown(&self) -> Shown {
        if self.low > 0.0 {
            Shown::Better
        } else if self.high < 0.0 {
            Shown::Worse
        } else {
            Shown::Nothing
        }
    }
}

/// How likely it is that at least one of `drawn` runs passes, from `of` runs of which `passed` did: without
/// bias, as if runs were drawn from these without being put back. None if there are fewer than are drawn.
pub fn any_of(drawn: u64, passed: u64, of: u64) -> Option<f64> {
    if drawn > of || passed > of {
        return None;
    }
    let failed = of - passed;
    let none = (0..drawn).map(|taken| number(failed.saturating_sub(taken)) / number(of - taken));
    Some(1.0 - none.product::<f64>())
}

/// The mean; none of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    let count = u64::try_from(values.len()).ok().filter(|count| *count > 0)?;
    Some(values.iter().sum::<f64>() / number(count))
}

/// The middle value, or the mean of the middle two; none of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2).copied()?;
    let lower = sorted.get(sorted.len().saturating_sub(1) / 2).copied()?;
    Some(f64::midpoint(lower, upper))
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs are small")]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
