//! Tools by what they mean: a second opinion on which fit, beside that by words.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use junto_core::Fut;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

/// How many texts are sent at a time, and how much of each: models take only so much.
const BATCH: usize = 128;
const LONGEST: usize = 4000;
/// How many texts are remembered.
const MOST_KNOWN: usize = 8192;
/// How long nobody is asked after a failure, so that not every search waits for it.
const REST: Duration = Duration::from_mins(1);

/// Gives texts vectors that are the nearer the more alike the texts are in meaning: an embedding model.
pub trait Embedder: Send + Sync {
    /// A vector for each text, in the order of the texts; all of the same length.
    ///
    /// # Errors
    /// Why there are none, in words for people.
    fn embed<'a>(&'a self, texts: &'a [String]) -> Fut<'a, Result<Vec<Vec<f32>>, String>>;
}

/// Ranks tools by what they mean. Clones share what is remembered; without an answer of the model the search goes by
/// words alone.
#[derive(Clone)]
pub struct Meaning(Arc<Inner>);

struct Inner {
    embedder: Box<dyn Embedder>,
    /// Vectors of unit length, by the digest of their text.
    known: Mutex<BTreeMap<[u8; 32], Arc<[f32]>>>,
    failure: Mutex<Failure>,
}

#[derive(Default)]
struct Failure {
    last: Option<Instant>,
    /// What nobody was told so far.
    untold: Option<String>,
    /// Whether there was something to tell.
    was_told: bool,
}

impl Meaning {
    /// By this model. Each text is sent to it once.
    pub fn new(embedder: impl Embedder + 'static) -> Self {
        let embedder = Box::new(embedder);
        Self(Arc::new(Inner { embedder, known: Mutex::default(), failure: Mutex::default() }))
    }

    /// The places of the texts that are nearest to a query, the nearest first; none if the model does not answer.
    pub(super) async fn rank(&self, query: &str, texts: &[String], limit: usize) -> Vec<usize> {
        if self.rests() {
            return Vec::new();
        }
        match self.try_rank(query, texts).await {
            Ok(mut ranked) => {
                ranked.truncate(limit);
                ranked
            }
            Err(why) => {
                self.fail(why);
                Vec::new()
            }
        }
    }

    async fn try_rank(&self, query: &str, texts: &[String]) -> Result<Vec<usize>, String> {
        let mut wanted = vec![query.to_owned()];
        wanted.extend(texts.iter().cloned());
        let vectors = self.vectors(&wanted).await?;
        let Some((query, vectors)) = vectors.split_first() else { return Ok(Vec::new()) };
        if vectors.iter().any(|vector| vector.len() != query.len()) {
            return Err("the vectors have different lengths".to_owned());
        }
        let mut near: Vec<(f32, usize)> =
            vectors.iter().enumerate().map(|(place, vector)| (product(query, vector), place)).collect();
        near.retain(|(nearness, _)| *nearness > 0.0);
        near.sort_by(|(one, at), (other, beside)| other.total_cmp(one).then(at.cmp(beside)));
        Ok(near.into_iter().map(|(_, place)| place).collect())
    }

    /// The vectors of texts, those that are not known by asking for them.
    async fn vectors(&self, texts: &[String]) -> Result<Vec<Arc<[f32]>>, String> {
        let texts: Vec<String> = texts.iter().map(|text| text.chars().take(LONGEST).collect()).collect();
        let keys: Vec<[u8; 32]> = texts.iter().map(|text| Sha256::digest(text).into()).collect();
        let mut missing: BTreeMap<[u8; 32], String> = keys.iter().copied().zip(texts).collect();
        let mut found: BTreeMap<[u8; 32], Arc<[f32]>> = BTreeMap::new();
        {
            let known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
            missing.retain(|key, _| match known.get(key) {
                Some(vector) => found.insert(*key, Arc::clone(vector)).is_some(),
                None => true,
            });
        }
        let missing: Vec<([u8; 32], String)> = missing.into_iter().collect();
        for batch in missing.chunks(BATCH) {
            let texts: Vec<String> = batch.iter().map(|(_, text)| text.clone()).collect();
            let vectors = self.0.embedder.embed(&texts).await?;
            if vectors.len() != texts.len() {
                return Err(format!("{} vectors came for {} texts", vectors.len(), texts.len()));
            }
            let units = batch.iter().zip(vectors).map(|((key, _), vector)| (*key, unit(vector)));
            let units: BTreeMap<_, _> = units.collect();
            self.remember(&units);
            found.extend(units);
        }
        keys.iter()
            .map(|key| found.get(key).cloned().ok_or_else(|| "a vector is missing".to_owned()))
            .collect()
    }

    fn remember(&self, vectors: &BTreeMap<[u8; 32], Arc<[f32]>>) {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() + vectors.len() > MOST_KNOWN {
            known.clear();
        }
        known.extend(vectors.iter().map(|(key, vector)| (*key, Arc::clone(vector))));
    }

    fn rests(&self) -> bool {
        let failure = self.0.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.last.is_some_and(|last| last.elapsed() < REST)
    }

    fn fail(&self, why: String) {
        let mut failure = self.0.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.last = Some(Instant::now());
        if !failure.was_told {
            failure.was_told = true;
            failure.untold = Some(why);
        }
    }

    /// Why the model did not answer for the first time; given once.
    pub(crate) fn take_failure(&self) -> Option<String> {
        self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).untold.take()
    }
}

impl fmt::Debug for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meaning").finish_non_exhaustive()
    }
}

fn product(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// The same direction, of length one; a vector that has none is near to nothing.
fn unit(vector: Vec<f32>) -> Arc<[f32]> {
    let length = product(&vector, &vector).sqrt();
    let scale = if length.is_finite() && length > 0.0 { length.recip() } else { 0.0 };
    vector.into_iter().map(|part| if part.is_finite() { part * scale } else { 0.0 }).collect()
}

/// How much the first places weigh against the next ones, as reciprocal rank fusion usually has it.
const EVEN: f64 = 60.0;

/// Several rankings as one: what is far ahead in one of them, or well ahead in several, comes first.
pub(super) fn fused(rankings: &[Vec<usize>], limit: usize) -> Vec<usize> {
    let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
    for ranking in rankings {
        for (rank, place) in (1_u32..).zip(ranking) {
            *scores.entry(*place).or_default() += (EVEN + f64::from(rank)).recip();
        }
    }
    let mut all: Vec<(usize, f64)> = scores.into_iter().collect();
    all.sort_by(|(one, score), (other, more)| more.total_cmp(score).then(one.cmp(other)));
    all.into_iter().map(|(place, _)| place).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn rankings_are_fused() {
        assert_eq!(fused(&[vec![1, 2, 3]], 2), [1, 2]);
        assert_eq!(fused(&[vec![1, 2, 3], vec![3, 4]], 9), [3, 1, 2, 4]);
        assert_eq!(fused(&[vec![1, 2], vec![]], 9), [1, 2]);
        assert_eq!(fused(&[], 9), [] as [usize; 0]);
    }

    /// Texts are alike if they have the same first letter.
    #[derive(Default)]
    struct Letters {
        asked: Arc<Mutex<Vec<String>>>,
        fails: Arc<AtomicBool>,
    }

    impl Embedder for Letters {
        fn embed<'a>(&'a self, texts: &'a [String]) -> Fut<'a, Result<Vec<Vec<f32>>, String>> {
            self.asked.lock().unwrap().extend(texts.iter().cloned());
            let vector =
                |text: &String| ['a', 'b'].map(|c| if text.starts_with(c) { 3.0 } else { 0.0 }).to_vec();
            let fails = self.fails.load(Ordering::Relaxed);
            let answer = if fails { Err("busy".to_owned()) } else { Ok(texts.iter().map(vector).collect()) };
            Box::pin(std::future::ready(answer))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn texts_are_sent_once_and_a_failure_is_told_once() {
        let (asked, fails) = (Arc::default(), Arc::default());
        let meaning = Meaning::new(Letters { asked: Arc::clone(&asked), fails: Arc::clone(&fails) });
        let texts = ["axe", "bow", "cap", "ant"].map(str::to_owned);
        assert_eq!(meaning.rank("all", &texts, 9).await, [0, 3]);
        assert_eq!(meaning.rank("bad", &texts, 9).await, [1]);
        let count = |text: &str| asked.lock().unwrap().iter().filter(|asked| *asked == text).count();
        assert_eq!((count("axe"), count("bad"), asked.lock().unwrap().len()), (1, 1, 6));
        assert_eq!(meaning.take_failure(), None);
        fails.store(true, Ordering::Relaxed);
        for expected in [Some("busy".to_owned()), None] {
            assert_eq!(meaning.rank("new", &texts, 9).await, [] as [usize; 0]);
            assert_eq!(meaning.take_failure(), expected);
        }
        // It was asked once, and is asked again after a while.
        assert_eq!(count("new"), 1);
        tokio::time::advance(REST).await;
        fails.store(false, Ordering::Relaxed);
        assert_eq!(meaning.rank("any", &texts, 1).await, [0]);
    }
}
