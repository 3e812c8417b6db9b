//! What was probably meant.

/// The candidate that was probably meant: at most a third of the letters, and never fewer than one
/// nor more than three, are wrong, missing, too many or swapped.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The number of letters to insert, delete, replace or swap with a neighbour to make `b` of `a`.
fn distance(a: &str, b: &str) -> usize {
    // No name we know is longer; this also bounds the work for what somebody may say.
    const LONGEST: usize = 64;
    let a: Vec<char> = a.chars().take(LONGEST).collect();
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, &y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(a.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["model", "provider", "effort", "max_tokens"];
        let check = |word: &str, expected: Option<&str>| assert_eq!(nearest(word, names), expected, "{word}");
        check("modle", Some("model"));
        check("mode", Some("model"));
        check("porvider", Some("provider"));
        check("max-tokens", Some("max_tokens"));
        check("maxtokens", Some("max_tokens"));
        check("colour", None);
        check("", None);
    }
}
