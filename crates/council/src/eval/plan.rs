//! Which runs an evaluation has, and in which order.

use std::sync::Arc;

use super::contender::Contender;
use super::task::Task;

/// Everything that is to be run.
#[derive(Clone)]
pub struct Plan {
    /// What is to be done.
    pub tasks: Vec<Task>,
    /// Who does it.
    pub contenders: Vec<Arc<dyn Contender>>,
    /// How often each does each.
    pub repeat: u32,
}

/// One run that is wanted.
#[derive(Clone, Copy)]
pub struct Cell<'a> {
    /// What is to be done.
    pub task: &'a Task,
    /// Who does it.
    pub contender: &'a dyn Contender,
    /// Which repetition, from 1.
    pub repetition: u32,
}

impl Plan {
    /// All runs, always in the same order: all tasks by everybody once, then all of them again. So an evaluation
    /// that ends early has about as many runs of each contender and each task, and they can be compared.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        (1..=self.repeat).flat_map(move |repetition| {
            self.tasks.iter().flat_map(move |task| {
                let contenders = self.contenders.iter();
                contenders.map(move |contender| Cell { task, contender: &**contender, repetition })
            })
        })
    }

    /// How many runs there are.
    pub fn len(&self) -> usize {
        self.cells().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
