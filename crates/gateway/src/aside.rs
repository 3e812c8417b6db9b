//! The copy of an answer that goes through by bytes: put aside while the bytes are handed on, and read when the client
//! has them.

mod reading;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use junto_llm::Error;
use tokio_util::task::TaskTracker;

pub(crate) use self::reading::Reading;
use crate::books::Books;
use crate::closing::Closing;
use crate::note::{Note, Noted};
use crate::tee::Tee;

/// How many bytes of an answer may wait to be read by whoever has time.
const MOST_LEFT: usize = 64 * 1024;

/// When what is put aside is read.
#[derive(Clone)]
pub(crate) enum When {
    /// After the turn in which the bytes are written, by whoever has turns and this desk, or when somebody looks at the
    /// books.
    Later(Arc<Desk>),
    /// At once, where nobody would come back to it.
    Now,
}

/// Takes what goes through. Dropped before the end, the answer was left.
pub(crate) struct Aside {
    copy: Arc<Copy>,
    is_read_now: bool,
}

impl Aside {
    /// For an answer that this tee reads, to a request of which note may still be to be taken.
    pub(crate) fn new(tee: Tee, note: Option<Note>, when: &When) -> Self {
        let copy = Arc::new(Copy { put: Mutex::default(), reader: Mutex::new(Reader::Reads { note, tee }) });
        match when {
            When::Later(desk) => desk.lay(&copy),
            When::Now => drop(copy.read()),
        }
        Self { copy, is_read_now: matches!(when, When::Now) }
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
        if self.is_read_now {
            self.copy.read();
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
    reader: Mutex<Reader>,
}

enum Reader {
    Reads {
        /// Before the answer is read: whose it is.
        note: Option<Note>,
        tee: Tee,
    },
    /// After the end. What was read is kept until the copy is freed, by whoever made it.
    HasRead { _request: Option<Noted>, _answer: Vec<Bytes> },
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

/// How much of an answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    /// What has come of it.
    SoFar,
    /// All.
    ToItsEnd,
}

impl Copy {
    /// Whether nothing more comes, and little waits to be read.
    fn can_wait(&self) -> bool {
        let put = self.put.lock().unwrap_or_else(PoisonError::into_inner);
        put.end.is_some() && put.chunks.iter().map(Bytes::len).sum::<usize>() <= MOST_LEFT
    }

    /// Reads all that was put aside. Whoever comes while it is being read waits for it.
    fn read(&self) -> Read {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let Put { chunks, end } =
            std::mem::take(&mut *self.put.lock().unwrap_or_else(PoisonError::into_inner));
        let Reader::Reads { note, tee } = &mut *reader else { return Read::ToItsEnd };
        let request = note.take().and_then(Note::take);
        for chunk in &chunks {
            tee.read(chunk);
        }
        match end {
            None => return Read::SoFar,
            Some(End::Over) => tee.over(),
            Some(End::Broke(error)) => tee.broke(error),
            Some(End::Left) => {}
        }
        *reader = Reader::HasRead { _request: request, _answer: chunks };
        Read::ToItsEnd
    }
}

/// Where one connection has the copies of its answers. Whoever serves it reads them when its turn is over, or leaves them
/// to whoever has time, and nobody else's: what other connections have put aside is no reason to wait.
pub(crate) struct Desk {
    books: Arc<Books>,
    reading: Option<Reading>,
    /// What its server waits for before it ends.
    pub(crate) tasks: TaskTracker,
    copies: Mutex<Vec<Arc<Copy>>>,
}

impl Desk {
    /// A desk whose owner reads all by himself, or has somebody for what can wait.
    pub(crate) fn new(books: Arc<Books>, reading: Option<Reading>, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self { books, reading, tasks, copies: Mutex::default() })
    }

    fn lay(&self, copy: &Arc<Copy>) {
        self.books.backlog.add(copy);
        self.copies.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(copy));
    }

    /// Reads what was put aside here, or leaves it to whoever has time.
    pub(crate) fn read(&self) {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner).retain(|copy| {
            if copy.can_wait() && self.reading.as_ref().is_some_and(|reading| reading.take(copy)) {
                return false;
            }
            let read = copy.read();
            if read == Read::ToItsEnd {
                self.books.backlog.remove(copy);
            }
            read == Read::SoFar
        });
    }
}

/// What is not in the books yet.
#[derive(Default)]
pub(crate) struct Backlog {
    /// The copies of all answers that are not read to their ends.
    copies: Mutex<Vec<Arc<Copy>>>,
    /// The calls that have ended and are not counted.
    closings: Mutex<Vec<Arc<Closing>>>,
}

impl Backlog {
    fn add(&self, copy: &Arc<Copy>) {
        self.copies().push(Arc::clone(copy));
    }

    fn remove(&self, copy: &Arc<Copy>) {
        let mut copies = self.copies();
        if let Some(at) = copies.iter().position(|other| Arc::ptr_eq(other, copy)) {
            copies.swap_remove(at);
        }
    }

    /// Takes a call that is to be counted.
    pub(crate) fn close(&self, closing: &Arc<Closing>) {
        self.closings().push(Arc::clone(closing));
    }

    /// When it is counted.
    pub(crate) fn closed(&self, closing: &Arc<Closing>) {
        self.closings().retain(|other| !Arc::ptr_eq(other, closing));
    }

    /// Reads and counts everything. What others are about to read is waited for: after this, the books are complete.
    pub(crate) fn read(&self, books: &Books) {
        let copies = self.copies().clone();
        for copy in copies {
            books.guard(|| {
                copy.read();
            });
        }
        let closings = self.closings().clone();
        for closing in closings {
            closing.close(books);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        // In the order in which calls go through them.
        self.copies().is_empty() && self.closings().is_empty()
    }

    fn copies(&self) -> MutexGuard<'_, Vec<Arc<Copy>>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closings(&self) -> MutexGuard<'_, Vec<Arc<Closing>>> {
        self.closings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Meter;
    use junto_llm::{CallCx, ErrorKind, Origin, Wire};
    use std::sync::atomic::{AtomicUsize, Ordering};

    const WHOLE: &[u8] = br#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}"#;

    /// Books that count what was read and reported.
    fn counting() -> (Arc<Books>, Arc<AtomicUsize>) {
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        let books = Books::for_tests(move |report| {
            count.fetch_add(usize::try_from(report.usage.input).unwrap() + 1, Ordering::SeqCst);
        });
        (books, told)
    }

    /// An answer to be put aside for these books.
    fn answer(books: &Arc<Books>, when: &When) -> Aside {
        let origin = Arc::new(Origin { wire: Wire::Anthropic, provider: "p".into(), model: "m".into() });
        let head = http::Response::builder().header("content-type", "application/json").body(()).unwrap();
        let meter = Meter::new(books, Wire::Anthropic, &CallCx::new());
        Aside::new(Tee::new(&head.into_parts().0, origin, meter), None, when)
    }

    fn listed(books: &Books) -> usize {
        books.backlog.copies().len()
    }

    #[test]
    fn it_is_read_when_somebody_looks_and_told_once() {
        let (books, told) = counting();
        let desk = Desk::new(Arc::clone(&books), None, TaskTracker::new());
        let aside = answer(&books, &When::Later(Arc::clone(&desk)));
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
        desk.read();
        assert_eq!((told.load(Ordering::SeqCst), listed(&books)), (8, 0));
    }

    #[test]
    fn whoever_has_the_desk_reads_it_without_being_asked() {
        let (books, told) = counting();
        let desk = Desk::new(Arc::clone(&books), None, TaskTracker::new());
        let aside = answer(&books, &When::Later(Arc::clone(&desk)));
        aside.chunk(Bytes::from_static(WHOLE));
        desk.read();
        assert_eq!((told.load(Ordering::SeqCst), listed(&books)), (0, 1), "there may be more");
        drop(aside);
        desk.read();
        assert_eq!((told.load(Ordering::SeqCst), listed(&books)), (8, 0));
    }

    /// More answers than may wait at a time, one of which is too large to wait.
    #[tokio::test]
    async fn what_is_left_to_whoever_has_time_is_read_to_the_last_one() {
        const ANSWERS: usize = 400;
        let (books, told) = counting();
        let (reading, done) = Reading::start(Arc::clone(&books)).unwrap();
        let desk = Desk::new(Arc::clone(&books), Some(reading), TaskTracker::new());
        for at in 0..ANSWERS {
            let aside = answer(&books, &When::Later(Arc::clone(&desk)));
            if at == 0 {
                aside.chunk(vec![b' '; MOST_LEFT].into());
            }
            aside.chunk(Bytes::from_static(WHOLE));
            drop(aside);
            desk.read();
            if at == 0 {
                assert_eq!((told.load(Ordering::SeqCst), listed(&books)), (8, 0), "it is read here");
            }
        }
        drop(desk);
        done.wait().await;
        assert_eq!((told.load(Ordering::SeqCst), listed(&books)), (ANSWERS * 8, 0));
    }

    #[test]
    fn where_nobody_comes_back_it_is_read_at_once() {
        let (books, told) = counting();
        let aside = answer(&books, &When::Now);
        aside.chunk(Bytes::from_static(WHOLE));
        drop(aside);
        assert_eq!((told.load(Ordering::SeqCst), listed(&books)), (8, 0));
    }

    #[test]
    fn an_answer_that_broke_off_is_told_too() {
        let (books, told) = counting();
        let aside = answer(&books, &When::Later(Desk::new(Arc::clone(&books), None, TaskTracker::new())));
        aside.broke(Error::new(ErrorKind::Network, "cut"));
        drop(aside);
        books.catch_up();
        assert_eq!(told.load(Ordering::SeqCst), 1);
    }

    /// Here nobody could go on: whoever reads the other answer is on this very thread.
    #[test]
    fn a_turn_does_not_wait_for_who_reads_what_another_connection_has_put_aside() {
        let (books, told) = counting();
        let [desk, others] = [(); 2].map(|()| Desk::new(Arc::clone(&books), None, TaskTracker::new()));
        let other = answer(&books, &When::Later(Arc::clone(&others)));
        other.chunk(Bytes::from_static(WHOLE));
        let reading = other.copy.reader.lock().unwrap();
        let own = answer(&books, &When::Later(Arc::clone(&desk)));
        own.chunk(Bytes::from_static(WHOLE));
        own.over();
        desk.read();
        assert_eq!(told.load(Ordering::SeqCst), 8);
        drop(reading);
        drop(other);
        others.read();
        assert_eq!((told.load(Ordering::SeqCst), listed(&books)), (16, 0));
    }

    /// Chunks of many answers, read after each turn and by several who look while they come: whoever has caught up finds
    /// all of them.
    #[test]
    fn whoever_has_caught_up_finds_everything() {
        const ANSWERS: usize = 200;
        let (books, told) = counting();
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let books = &books;
                scope.spawn(move || {
                    let desk = Desk::new(Arc::clone(books), None, TaskTracker::new());
                    for turn in 0..ANSWERS {
                        let aside = answer(books, &When::Later(Arc::clone(&desk)));
                        for byte in WHOLE.chunks(50) {
                            aside.chunk(Bytes::from_static(byte));
                            if (turn + worker) % 2 == 0 { desk.read() } else { books.catch_up() }
                        }
                    }
                    desk.read();
                });
            }
        });
        books.catch_up();
        assert_eq!((told.load(Ordering::SeqCst), listed(&books)), (4 * ANSWERS * 8, 0));
    }
}
