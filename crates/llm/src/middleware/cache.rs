//! The same question, answered from memory.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use super::{Middleware, Next, record::key};
use crate::{CallCx, Error, Fut, Request, Response};

/// Answers a request that was answered before from memory. Whole answers only; streams pass.
///
/// Meant for evaluations and tests. It holds a fixed number of answers and forgets the oldest.
#[derive(Debug)]
pub struct ResponseCache {
    most: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    answers: HashMap<String, Response>,
    order: VecDeque<String>,
}

impl ResponseCache {
    /// A cache of at most `most` answers.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), held: Mutex::default() }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        // A panic while it was held cannot have left it half-changed in a way that matters.
        self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn keep(&self, key: String, response: Response) {
        let mut held = self.held();
        if held.answers.insert(key.clone(), response).is_none() {
            held.order.push_back(key);
        }
        if held.order.len() > self.most
            && let Some(oldest) = held.order.pop_front()
        {
            held.answers.remove(&oldest);
        }
    }
}

impl Middleware for ResponseCache {
    fn complete<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            let key = key(&request)?;
            let found = self.held().answers.get(&key).cloned();
            if let Some(response) = found {
                return Ok(response);
            }
            let response = next.complete(request, cx).await?;
            self.keep(key, response.clone());
            Ok(response)
        })
    }
}
