//! Requests that come a second time.

use std::sync::{Mutex, PoisonError};

use crate::play::PlayError;
use crate::sign::digest;
use crate::stage::Scene;
use crate::strict::recent::Recent;

/// How many answers are remembered.
const MOST: usize = 1000;

/// What a request is answered with that came before, byte for byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeats {
    /// As any other: the play goes on, and ids are new.
    #[default]
    Anew,
    /// What it was answered with then, ids included, and the play stays where it is: so a client that was
    /// killed and asks again has the same conversation as one that was not. An answer that went wrong is
    /// not remembered.
    Same,
}

/// What was answered so far.
#[derive(Debug)]
pub(crate) struct Again(Option<Mutex<Answers>>);

#[derive(Debug)]
struct Answers {
    scenes: Recent<[u8; 32], Scene>,
    /// How many requests there were that none was like.
    count: u64,
}

impl Again {
    pub(crate) fn new(repeats: Repeats) -> Self {
        let answers = || Mutex::new(Answers { scenes: Recent::new(MOST), count: 0 });
        Self((repeats == Repeats::Same).then(answers))
    }

    /// What the request is answered with: what it was before, else what `play` makes. That is told a number
    /// unlike all others, which is `number` unless repeats are the same: then only requests count that
    /// none was like.
    pub(crate) fn answer(
        &self,
        path: &str,
        body: &[u8],
        number: u64,
        play: impl FnOnce(u64) -> Result<Scene, PlayError>,
    ) -> Result<Scene, PlayError> {
        let Some(answers) = &self.0 else { return play(number) };
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        let key = digest(&[path.as_bytes(), body]);
        if let Some(scene) = answers.scenes.get(&key) {
            return Ok(scene);
        }
        let scene = play(answers.count.saturating_add(1))?;
        answers.count = answers.count.saturating_add(1);
        if scene.fault.is_none() {
            answers.scenes.insert(key, scene.clone());
        }
        Ok(scene)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    fn scene(step: usize, fault: Option<Fault>) -> Scene {
        Scene { step, response: None, fault }
    }

    #[test]
    fn the_same_request_gets_the_same_answer() {
        let again = Again::new(Repeats::Same);
        let ask = |path: &str, body: &str, number: u64, fault: Option<Fault>| {
            let mut told = None;
            let made = again.answer(path, body.as_bytes(), number, |number| {
                told = Some(number);
                Ok(scene(usize::try_from(number).unwrap_or(0), fault))
            });
            (made.map(|scene| scene.step).unwrap(), told)
        };
        assert_eq!(ask("/a", "one", 1, None), (1, Some(1)));
        assert_eq!(ask("/a", "one", 2, None), (1, None));
        assert_eq!(ask("/a", "two", 3, None), (2, Some(2)), "as if nothing had been repeated");
        assert_eq!(ask("/b", "two", 4, None), (3, Some(3)));
        assert_eq!(ask("/a", "three", 5, Some(Fault::status(500))), (4, Some(4)));
        assert_eq!(ask("/a", "three", 6, None), (5, Some(5)), "a fault is not remembered");
    }

    #[test]
    fn unless_told_so_every_request_is_a_new_one() {
        let again = Again::new(Repeats::Anew);
        for number in [3, 4] {
            let made = again
                .answer("/a", b"one", number, |number| Ok(scene(usize::try_from(number).unwrap(), None)));
            assert_eq!(made.unwrap().step as u64, number);
        }
    }
}
