//! The copy of an answer that goes through by bytes: put aside while the bytes are handed on, and read when the client
//! has them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use junto_llm::Error;

use crate::books::Books;
use crate::tee::Tee;

/// When what is put aside is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// After the turn in which the bytes are written, by whoever has turns, or when somebody looks at the books.
    Later,
    /// At once, where nobody would come back to it.
    Now,
}

/// Takes what goes through. Dropped before the end, the answer was left.
pub(crate) struct Aside {
    copy: Arc<Copy>,
    books: Arc<Books>,
    when: When,
}

impl Aside {
    pub(crate) fn new(tee: Tee, books: Arc<Books>, when: When) -> Self {
        let (put, tee) = (Mutex::default(), Mutex::new(Some(tee)));
        Self { copy: Arc::new(Copy { put, tee, is_listed: AtomicBool::new(false) }), books, when }
    }

    pub(crate) fn chunk(&self, chunk: Bytes) {
        self.put(|put| put.chunks.push(chunk));
    }

    /// When the provider has sent everything.
    pub(crate) fn over(&self) {
        self.put(|put| put.end = Some(End::Over));
    }

    /// When the provider broke off.
    pub(crate) fn broke(&self, error: Error) {
        self.put(|put| put.end = Some(End::Broke(error)));
    }

    fn put(&self, put: impl FnOnce(&mut Put)) {
        put(&mut self.copy.put.lock().unwrap_or_else(PoisonError::into_inner));
        match self.when {
            When::Later => self.books.put_aside(&self.copy),
            When::Now => self.copy.read(),
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.put(|put| {
            put.end.get_or_insert(End::Left);
        });
    }
}

/// What was put aside of one answer, and who reads it.
pub(crate) struct Copy {
    put: Mutex<Put>,
    /// Gone after the end.
    tee: Mutex<Option<Tee>>,
    is_listed: AtomicBool,
}

#[derive(Default)]
struct Put {
    chunks: Vec<Bytes>,
    end: Option<End>,
}

/// How the bytes ended.
enum End {
    Over,
    /// The client has gone, or the server, which may know how many bytes there are, asks for no more.
    Left,
    Broke(Error),
}

impl Copy {
    /// Reads all that was put aside. Whoever comes while it is being read waits for it.
    fn read(&self) {
        let mut reader = self.tee.lock().unwrap_or_else(PoisonError::into_inner);
        let Put { chunks, end } =
            std::mem::take(&mut *self.put.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(tee) = &mut *reader else { return };
        for chunk in &chunks {
            tee.read(chunk);
        }
        match end {
            None => return,
            Some(End::Over) => tee.over(),
            Some(End::Broke(error)) => tee.broke(error),
            Some(End::Left) => {}
        }
        *reader = None;
    }

    /// Whether all is read.
    fn is_read(&self) -> bool {
        let put = self.put.lock().unwrap_or_else(PoisonError::into_inner);
        put.chunks.is_empty() && put.end.is_none() && self.tee.try_lock().is_ok()
    }
}

/// What is put aside of all answers.
#[derive(Default)]
pub(crate) struct Backlog(Mutex<Vec<Arc<Copy>>>);

impl Backlog {
    pub(crate) fn add(&self, copy: &Arc<Copy>) {
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !copy.is_listed.swap(true, Ordering::Relaxed) {
            copies.push(Arc::clone(copy));
        }
    }

    /// Reads everything. What others are about to read is waited for: after this, the books are complete.
    pub(crate) fn read(&self) {
        let copies = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if copies.is_empty() {
            return;
        }
        for copy in &copies {
            copy.read();
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|copy| {
            let stays = !copy.is_read();
            copy.is_listed.store(stays, Ordering::Relaxed);
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Meter;
    use junto_llm::{CallCx, ErrorKind, Origin, Wire};
    use std::sync::atomic::AtomicUsize;

    const WHOLE: &[u8] = br#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}"#;

    /// Books that count what was read and reported, and an answer to be put aside for them.
    fn open(when: When) -> (Arc<Books>, Arc<AtomicUsize>, Aside) {
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        let books = Books::for_tests(move |report| {
            count.fetch_add(usize::try_from(report.usage.input).unwrap() + 1, Ordering::SeqCst);
        });
        let origin = Arc::new(Origin { wire: Wire::Anthropic, provider: "p".into(), model: "m".into() });
        let head = http::Response::builder().header("content-type", "application/json").body(()).unwrap();
        let tee = Tee::new(&head.into_parts().0, origin, Meter::new(&books, Wire::Anthropic, &CallCx::new()));
        (Arc::clone(&books), told, Aside::new(tee, books, when))
    }

    #[test]
    fn it_is_read_when_somebody_looks_and_told_once() {
        let (books, told, aside) = open(When::Later);
        let (one, other) = WHOLE.split_at(9);
        aside.chunk(Bytes::from_static(one));
        books.catch_up();
        aside.chunk(Bytes::from_static(other));
        aside.over();
        drop(aside);
        assert_eq!(told.load(Ordering::SeqCst), 0, "the client comes first");
        books.catch_up();
        books.catch_up();
        assert_eq!(told.load(Ordering::SeqCst), 8);
    }

    #[test]
    fn where_nobody_comes_back_it_is_read_at_once() {
        let (_books, told, aside) = open(When::Now);
        aside.chunk(Bytes::from_static(WHOLE));
        drop(aside);
        assert_eq!(told.load(Ordering::SeqCst), 8);
    }

    #[test]
    fn an_answer_that_broke_off_is_told_too() {
        let (books, told, aside) = open(When::Later);
        aside.broke(Error::new(ErrorKind::Network, "cut"));
        drop(aside);
        books.catch_up();
        assert_eq!(told.load(Ordering::SeqCst), 1);
    }

    /// Chunks of many answers, read by several threads while they come: whoever has caught up finds all of them.
    #[test]
    fn whoever_has_caught_up_finds_everything() {
        const ANSWERS: usize = 200;
        let (books, told, first) = open(When::Later);
        drop(first);
        books.catch_up();
        let before = told.load(Ordering::SeqCst);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..ANSWERS {
                        let origin =
                            Origin { wire: Wire::Anthropic, provider: "p".into(), model: "m".into() };
                        let head = http::Response::new(()).into_parts().0;
                        let meter = Meter::new(&books, Wire::Anthropic, &CallCx::new());
                        let tee = Tee::new(&head, Arc::new(origin), meter);
                        let aside = Aside::new(tee, Arc::clone(&books), When::Later);
                        for byte in WHOLE.chunks(50) {
                            aside.chunk(Bytes::from_static(byte));
                            books.catch_up();
                        }
                    }
                    books.catch_up();
                });
            }
        });
        books.catch_up();
        assert_eq!(told.load(Ordering::SeqCst) - before, 4 * ANSWERS * 8);
    }
}
