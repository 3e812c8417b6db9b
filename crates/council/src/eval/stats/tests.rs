use super::*;

/// Numbers that look random and are the same each time (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        number(self.0 >> 11) / number(1 << 53)
    }

    fn passes(&mut self, rate: f64) -> bool {
        self.roll() < rate
    }
}

#[test]
fn wilsons_interval_is_as_published() {
    // The cases of Newcombe's comparison of seven methods for one proportion.
    let check = |passed: u64, of: u64, low: &str, high: &str| {
        let rate = Rate::new(passed, of).unwrap();
        assert_eq!((format!("{:.4}", rate.low), format!("{:.4}", rate.high)), (low.into(), high.into()));
    };
    check(81, 263, "0.2553", "0.3662");
    check(15, 148, "0.0624", "0.1605");
    check(0, 20, "0.0000", "0.1611");
    check(1, 29, "0.0061", "0.1718");
    check(29, 29, "0.8830", "1.0000");
}

#[test]
fn nothing_has_no_rate() {
    assert_eq!(Rate::new(0, 0), None);
    assert_eq!(Rate::new(2, 1), None);
    assert_eq!(Difference::of(Pairs::default()), None);
    assert!(Pairs::default().is_empty());
    assert_eq!((mean(&[]), median(&[])), (None, None));
}

#[test]
fn the_paired_interval_is_as_published() {
    // Newcombe 1998, paired data, his method 10.
    let pairs = Pairs { both: 36, only_first: 12, only_second: 2, neither: 0 };
    let lift = Difference::of(pairs).unwrap();
    let seen = [lift.difference, lift.low, lift.high].map(|value| format!("{value:.4}"));
    assert_eq!(seen, ["0.2000", "0.0569", "0.3404"]);
}

#[test]
fn a_difference_shows_something_only_if_it_is_all_on_one_side() {
    let check = |[both, only_first, only_second, neither]: [u64; 4], shown: Shown| {
        let lift = Difference::of(Pairs { both, only_first, only_second, neither }).unwrap();
        assert_eq!(lift.shown(), shown, "{lift:?}");
    };
    check([10, 20, 0, 10], Shown::Better);
    check([10, 0, 20, 10], Shown::Worse);
    check([10, 3, 2, 10], Shown::Nothing);
    check([5, 0, 0, 0], Shown::Nothing);
}

#[test]
fn both_ways_round_a_difference_is_the_same() {
    for [both, only_first, only_second, neither] in [[3, 4, 5, 6], [0, 7, 1, 0], [9, 0, 3, 2]] {
        let there = Difference::of(Pairs { both, only_first, only_second, neither }).unwrap();
        let back = Difference::of(Pairs { both, only_first: only_second, only_second: only_first, neither })
            .unwrap();
        assert!((there.low + back.high).abs() < 1e-12 && (there.high + back.low).abs() < 1e-12);
    }
}

/// How often an interval has the truth in it, over many evaluations.
fn covered(mut has_it: impl FnMut(&mut Dice) -> bool) -> f64 {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let times = 4000;
    let hits = (0..times).filter(|_| has_it(&mut dice)).count();
    number(hits as u64) / f64::from(times)
}

#[test]
fn the_interval_of_a_rate_has_the_truth_in_it_as_often_as_it_says() {
    for (rate, runs) in [(0.5, 20), (0.3, 36), (0.8, 60), (0.95, 100)] {
        let part = covered(|dice| {
            let passed = (0..runs).filter(|_| dice.passes(rate)).count();
            Rate::new(passed as u64, runs).unwrap().contains(rate)
        });
        assert!(part > 0.93, "{rate} in {runs}: {part}");
    }
}

#[test]
fn the_interval_of_a_lift_has_the_truth_in_it_as_often_as_it_says() {
    // Tasks that are easy or hard for both, so that the pairs go together.
    for (first, second) in [([0.9, 0.5, 0.2], [0.8, 0.4, 0.1]), ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5])] {
        let truth = (first.iter().sum::<f64>() - second.iter().sum::<f64>()) / 3.0;
        let part = covered(|dice| {
            let pairs = (0..45).map(|run| (dice.passes(first[run % 3]), dice.passes(second[run % 3])));
            Difference::of(Pairs::count(pairs)).unwrap().contains(truth)
        });
        assert!(part > 0.93, "{first:?} {second:?}: {part}");
    }
}

#[test]
fn the_chance_of_any_is_counted_without_bias() {
    assert_eq!(any_of(1, 3, 4), Some(0.75));
    assert_eq!(any_of(2, 2, 4), Some(1.0 - (2.0 / 4.0) * (1.0 / 3.0)));
    assert_eq!(any_of(3, 2, 4), Some(1.0));
    assert_eq!(any_of(2, 0, 4), Some(0.0));
    assert_eq!(any_of(5, 2, 4), None);
    let mut dice = Dice(7);
    let guesses: Vec<f64> =
        (0..4000).filter_map(|_| any_of(3, (0..6).filter(|_| dice.passes(0.3)).count() as u64, 6)).collect();
    let truth = 1.0 - 0.7_f64.powi(3);
    assert!((mean(&guesses).unwrap() - truth).abs() < 0.015, "{:?}", mean(&guesses));
}

#[test]
fn the_middle_of_an_even_number_is_between_two() {
    assert_eq!(median(&[3.0, 1.0]), Some(2.0));
    assert_eq!(median(&[3.0, 1.0, 9.0]), Some(3.0));
    assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
}
