//! How something is done that takes the longer the larger a request is: what is long is done where nobody else waits for
//! it, and of that no more at a time than there are processors. A request that is read takes many times its own room.

use std::sync::Arc;
use std::thread::available_parallelism;

use http::Extensions;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinHandle, block_in_place, spawn_blocking};
use tokio_util::task::TaskTracker;

use crate::gateway::Gateway;
use crate::guard::Link;

/// From how many bytes on a body takes so long to read that others are let go on meanwhile.
const LONG: usize = 256 * 1024;

/// As much long work as is done at a time. Whoever has a turn waits for nothing else until it is over.
#[derive(Clone)]
pub(crate) struct Long(Arc<Semaphore>);

impl Default for Long {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(available_parallelism().map_or(1, usize::from))))
    }
}

impl Long {
    /// Waits, first come first served, until there is room for more. Nobody closes it.
    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).acquire_owned().await.ok()
    }

    /// Does this when there is room for it, where nobody waits for the thread.
    pub(crate) async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let turn = self.turn().await;
        let done = spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        done.await
    }
}

/// How something is done that concerns one request.
#[derive(Clone, Copy)]
pub(crate) enum Pace<'a> {
    /// At once.
    Short,
    /// So that whatever else this thread would do meanwhile is done by another.
    Long(&'a Long, &'a TaskTracker),
}

impl<'a> Pace<'a> {
    /// For a request that has so many bytes.
    pub(crate) fn of(gateway: &'a Gateway, request: &'a Extensions, size: usize) -> Self {
        if size < LONG {
            return Self::Short;
        }
        // Other servers may call from where a thread cannot be left.
        let can_be_left = || Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
        match request.get::<Link>() {
            Some(link) if can_be_left() => Self::Long(&gateway.0.books.long, &link.desk.tasks),
            _ => Self::Short,
        }
    }

    /// Does it before anything else is done for the request.
    pub(crate) async fn run<T>(self, work: impl FnOnce() -> T) -> T {
        match self {
            Self::Short => work(),
            Self::Long(long, _) => {
                let _turn = long.turn().await;
                block_in_place(work)
            }
        }
    }

    /// Does it where nobody else waits for the thread, however short it is.
    pub(crate) async fn apart<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        match self {
            Self::Short => spawn_blocking(work).await,
            Self::Long(long, _) => long.clone().run(work).await,
        }
    }

    /// Does it beside what else is done for the request, and also if nothing more is; but at once if that takes no time.
    /// Whoever closes the server waits for it.
    pub(crate) fn beside<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Beside<T> {
        match self {
            Self::Short => Beside::Done(work()),
            Self::Long(long, tasks) => Beside::Under(tasks.spawn(long.clone().run(work))),
        }
    }
}

/// What is done beside something else.
pub(crate) enum Beside<T> {
    Done(T),
    Under(JoinHandle<Result<T, JoinError>>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aside::Desk;
    use crate::route::Target;
    use crate::sessions::Canned;
    use crate::{CallEnd, CallReport};
    use futures_util::FutureExt as _;
    use junto_llm::{Endpoint, HttpProvider, Wire};
    use std::net::SocketAddr;
    use std::sync::{Mutex, mpsc};
    use std::time::Duration;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;
    use tokio_util::sync::CancellationToken;

    /// A hang guard.
    const PATIENCE: Duration = Duration::from_mins(1);

    fn gateway() -> Gateway {
        let target = Target::new("p", Arc::new(Canned::turns(1)));
        Gateway::builder().route("*", target).build().unwrap()
    }

    /// Of a request that came through our own server.
    fn served(gateway: &Gateway) -> Extensions {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let desk = Desk::new(Arc::clone(&gateway.0.books), None, TaskTracker::new());
        let mut extensions = Extensions::new();
        extensions.insert(Link { peer: address, local: address, host: "localhost".into(), desk });
        extensions
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_have_their_turn_while_a_large_request_is_read() {
        let serving = async {
            let gateway = gateway();
            let (tell, told) = mpsc::sync_channel(1);
            tokio::spawn(async move { tell.send(()) });
            Pace::of(&gateway, &served(&gateway), LONG).run(move || told.recv_timeout(PATIENCE)).await
        };
        tokio::spawn(serving).await.unwrap().expect("somebody else did it");
    }

    /// Each takes many times its own room, and a thread.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn no_more_large_requests_are_read_at_a_time_than_there_are_processors() {
        let gateway = gateway();
        let most = available_parallelism().unwrap().get();
        let (tell, told) = mpsc::sync_channel(most);
        let (go, wait): (Vec<_>, Vec<_>) = (0..most).map(|_| mpsc::sync_channel::<()>(0)).unzip();
        let reading: Vec<_> = wait
            .into_iter()
            .map(|wait| {
                let (gateway, tell) = (gateway.clone(), tell.clone());
                tokio::spawn(async move {
                    let extensions = served(&gateway);
                    let work = move || tell.send(()).map(|()| wait.recv_timeout(PATIENCE));
                    Pace::of(&gateway, &extensions, LONG).run(work).await.unwrap()
                })
            })
            .collect();
        tokio::task::spawn_blocking(move || (0..most).for_each(|_| told.recv_timeout(PATIENCE).unwrap()))
            .await
            .unwrap();
        let extensions = served(&gateway);
        let pace = Pace::of(&gateway, &extensions, LONG);
        assert!(pace.run(|| ()).now_or_never().is_none(), "it waits");
        assert_eq!(
            Pace::of(&gateway, &extensions, 1).run(|| 7).now_or_never(),
            Some(7),
            "a small one does not"
        );
        drop(go);
        for one in reading {
            // Whoever let it go on has not said so, but left.
            assert_eq!(one.await.unwrap(), Err(mpsc::RecvTimeoutError::Disconnected));
        }
        tokio::spawn(async move { Pace::of(&gateway, &served(&gateway), LONG).run(|| ()).await })
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_thread_is_left_only_where_it_can_be_and_for_what_is_large() {
        let gateway = gateway();
        let is_long = |gateway: &Gateway, request: &Extensions, size| {
            matches!(Pace::of(gateway, request, size), Pace::Long(..))
        };
        assert!(!is_long(&gateway, &served(&gateway), LONG), "there is only this thread");
        let others = tokio::task::spawn_blocking(move || {
            let several = tokio::runtime::Builder::new_multi_thread().build().unwrap();
            let _within = several.enter();
            let link = served(&gateway);
            [(&link, LONG), (&link, LONG - 1), (&Extensions::new(), LONG)]
                .map(|(request, size)| is_long(&gateway, request, size))
        });
        assert_eq!(others.await.unwrap(), [true, false, false]);
    }

    /// A large request that goes through while there is no room to read it.
    struct Unread {
        /// While this is kept there is none.
        turns: OwnedSemaphorePermit,
        client: TcpStream,
        /// The provider's end, which has the request.
        provider: TcpStream,
        shutdown: CancellationToken,
        server: JoinHandle<()>,
        told: Arc<Mutex<Vec<CallReport>>>,
    }

    async fn unread(end: &str) -> Unread {
        let [behind, before] = [
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        ];
        let endpoint =
            Endpoint::new("p", Wire::Anthropic, format!("http://{}", behind.local_addr().unwrap()));
        let target = Target::new("p", Arc::new(HttpProvider::new(endpoint).unwrap()));
        let told = Arc::new(Mutex::new(Vec::new()));
        let book = Arc::clone(&told);
        let sink = move |report| book.lock().unwrap().push(report);
        let gateway = Gateway::builder().route("*", target).on_call(sink).build().unwrap();
        let all = available_parallelism().unwrap().get().try_into().unwrap();
        let turns = Arc::clone(&gateway.0.books.long.0).acquire_many_owned(all).await.unwrap();
        let address = before.local_addr().unwrap();
        let (shutdown, token) = (CancellationToken::new(), CancellationToken::new());
        let server = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { gateway.serve_until(before, shutdown, token).await }
        });
        let text = "x".repeat(LONG);
        let body =
            format!(r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":"{text}"}}]{end}"#);
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let (mut provider, _) = timeout(PATIENCE, behind.accept()).await.expect("it is asked").unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(format!("x\"}}]{end}").as_bytes()) {
            let read = timeout(PATIENCE, provider.read_buf(&mut seen)).await;
            assert_ne!(read.expect("it is given everything").unwrap(), 0);
        }
        Unread { turns, client, provider, shutdown, server, told }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_large_request_is_sent_and_left_before_it_is_read_and_is_in_the_books_all_the_same() {
        let Unread { turns, client, mut provider, shutdown, server, told } = unread("}").await;
        drop(client);
        // A reset is an end, too.
        let _ = timeout(PATIENCE, provider.read_to_end(&mut Vec::new())).await.expect("it is left");
        shutdown.cancel();
        assert!(told.lock().unwrap().is_empty() && !server.is_finished(), "it is waited for");
        drop(turns);
        timeout(PATIENCE, server).await.expect("it ends").unwrap();
        let told = told.lock().unwrap();
        let [report] = told.as_slice() else { panic!("{told:?}") };
        assert!(matches!(report.end, CallEnd::BrokenOff) && report.is_untold(), "{report:?}");
        assert!(report.provider.as_deref() == Some("p") && report.session.is_some(), "{report:?}");
        assert!(report.request_bytes > LONG, "{report:?}");
    }

    /// Also if the provider has answered meanwhile.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_large_request_that_is_not_what_it_should_be_is_refused_once_it_is_read() {
        for end in ["", r#","model":"another"}"#] {
            let Unread { turns, mut client, mut provider, shutdown, server, told } = unread(end).await;
            provider.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
            drop(turns);
            let mut answer = String::new();
            timeout(PATIENCE, client.read_to_string(&mut answer)).await.expect("it is answered").unwrap();
            assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
            shutdown.cancel();
            timeout(PATIENCE, server).await.expect("it ends").unwrap();
            let told = told.lock().unwrap();
            assert!(matches!(told.as_slice(), [CallReport { end: CallEnd::Failed { .. }, .. }]), "{told:?}");
        }
    }
}
