//! Looks up names with the operating system's resolver, on threads of its own.
//!
//! The system's resolver knows what a DNS client of our own would not: hosts files, search domains, the resolvers of a VPN
//! or a container platform. But a look-up cannot be cancelled. One of a name whose servers do not answer lasts half a
//! minute, long after the attempt that asked has timed out. So look-ups have threads of their own, not those that Tokio
//! shares with file I/O; a name is looked up once at a time, whoever asks; and names that were slow, or were never looked up,
//! have only a part of the threads, so that names which answered quickly always find one.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, watch};

/// Look-ups that run at the same time.
const THREADS: Threads = Threads {
    all: 512,
    unknown: 256,
    slow: 64,
};
/// A look-up that takes longer is slow.
const SLOW: Duration = Duration::from_secs(2);
/// How many slow names are remembered, and how many quick ones.
const REMEMBERED: usize = 4_096;
/// The resolver needs little stack, and libraries that it loads a little more.
const STACK: usize = 512 * 1024;

/// The addresses of a name, or why there are none.
type Answer = Result<Vec<IpAddr>, Arc<str>>;
type LookUp = fn(&str) -> io::Result<Vec<IpAddr>>;

/// How many look-ups run at the same time.
#[derive(Debug, Clone, Copy)]
struct Threads {
    all: usize,
    /// Of names that are remembered neither as quick nor as slow.
    unknown: usize,
    /// Of names that were slow the last time.
    slow: usize,
}

/// Looks up names. Clones share their threads.
#[derive(Clone)]
pub(crate) struct Resolver {
    shared: Arc<Shared>,
}

struct Shared {
    look_up: LookUp,
    names: Mutex<Names>,
    threads: Arc<Semaphore>,
    unknown_threads: Arc<Semaphore>,
    slow_threads: Arc<Semaphore>,
}

#[derive(Default)]
struct Names {
    /// The running look-ups, and those that wait for a thread.
    running: HashMap<String, watch::Sender<Option<Answer>>>,
    /// Of those that were looked up before.
    quick: HashSet<String>,
    slow: HashSet<String>,
}

impl Default for Resolver {
    fn default() -> Self {
        Self::with(system_look_up, THREADS)
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

impl Resolver {
    fn with(look_up: LookUp, threads: Threads) -> Self {
        Self {
            shared: Arc::new(Shared {
                look_up,
                names: Mutex::default(),
                threads: Arc::new(Semaphore::new(threads.all)),
                unknown_threads: Arc::new(Semaphore::new(threads.unknown)),
                slow_threads: Arc::new(Semaphore::new(threads.slow)),
            }),
        }
    }

    /// The addresses of a name, the preferred one first. Whoever drops this no longer waits; a look-up that no one waits
    /// for is not begun.
    pub(crate) async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut answer = self.join_or_begin(name);
        let answered = answer
            .wait_for(Option::is_some)
            .await
            .map(|answer| answer.clone());
        match answered {
            Ok(Some(Ok(addresses))) => Ok(addresses),
            Ok(Some(Err(why))) => Err(io::Error::other(why.to_string())),
            Ok(None) | Err(_) => Err(io::Error::other("the look-up was cut short")),
        }
    }

    fn join_or_begin(&self, name: &str) -> watch::Receiver<Option<Answer>> {
        let mut names = self.shared.names();
        if let Some(running) = names.running.get(name) {
            return running.subscribe();
        }
        let (answer, receiver) = watch::channel(None);
        names.running.insert(name.to_owned(), answer);
        let part = if names.quick.contains(name) {
            None
        } else if names.slow.contains(name) {
            Some(Arc::clone(&self.shared.slow_threads))
        } else {
            Some(Arc::clone(&self.shared.unknown_threads))
        };
        drop(names);
        tokio::spawn(begin(Arc::clone(&self.shared), name.to_owned(), part));
        receiver
    }
}

impl Shared {
    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the look-up out if no one waits for it any more.
    fn is_abandoned(&self, name: &str) -> bool {
        let mut names = self.names();
        let waited_for = names
            .running
            .get(name)
            .is_some_and(|answer| answer.receiver_count() > 0);
        if !waited_for {
            names.running.remove(name);
        }
        !waited_for
    }

    fn answer(&self, name: &str, answer: Answer, took: Duration) {
        let mut names = self.names();
        names.note(name, took >= SLOW);
        if let Some(waiting) = names.running.remove(name) {
            waiting.send_replace(Some(answer));
        }
    }
}

impl Names {
    /// Remembers how long a look-up took. Where there is no room, all others of its kind are forgotten.
    fn note(&mut self, name: &str, is_slow: bool) {
        let (kind, other) = if is_slow {
            (&mut self.slow, &mut self.quick)
        } else {
            (&mut self.quick, &mut self.slow)
        };
        other.remove(name);
        if !kind.contains(name) {
            if kind.len() >= REMEMBERED {
                kind.clear();
            }
            kind.insert(name.to_owned());
        }
    }
}

/// Begins the look-up once there is a thread for it, of the `part` of the threads that it may take.
async fn begin(shared: Arc<Shared>, name: String, part: Option<Arc<Semaphore>>) {
    let part_place = match part {
        Some(part) => part.acquire_owned().await.ok(),
        None => None,
    };
    let place = Arc::clone(&shared.threads).acquire_owned().await.ok();
    if shared.is_abandoned(&name) {
        return;
    }
    let (looking, looked_up) = (Arc::clone(&shared), name.clone());
    let thread = std::thread::Builder::new()
        .name("name look-up".to_owned())
        .stack_size(STACK);
    let spawned = thread.spawn(move || {
        let began = Instant::now();
        let answer = (looking.look_up)(&looked_up).map_err(|error| error.to_string().into());
        looking.answer(&looked_up, answer, began.elapsed());
        drop((place, part_place));
    });
    if let Err(error) = spawned {
        let why = format!("no thread for the look-up: {error}");
        shared.answer(&name, Err(why.into()), Duration::ZERO);
    }
}

fn system_look_up(name: &str) -> io::Result<Vec<IpAddr>> {
    // The port says nothing about the name.
    let addresses = (name, 0).to_socket_addrs()?;
    Ok(addresses.map(|address| address.ip()).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Condvar;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;

    use super::*;

    /// Holds look-ups until it is opened.
    struct Gate(Mutex<bool>, Condvar);

    impl Gate {
        const fn closed() -> Self {
            Self(Mutex::new(false), Condvar::new())
        }

        fn pass(&self) {
            let open = self.0.lock().unwrap();
            drop(self.1.wait_while(open, |open| !*open).unwrap());
        }

        fn open(&self) {
            *self.0.lock().unwrap() = true;
            self.1.notify_all();
        }
    }

    const HOME: [IpAddr; 1] = [IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)];

    #[tokio::test]
    async fn a_name_is_looked_up_once_for_all_who_wait() {
        static LOOK_UPS: AtomicUsize = AtomicUsize::new(0);
        static GATE: Gate = Gate::closed();
        let look_up: LookUp = |_| {
            LOOK_UPS.fetch_add(1, Ordering::SeqCst);
            GATE.pass();
            Ok(HOME.to_vec())
        };
        let resolver = Resolver::with(look_up, FEW_THREADS);
        let waiting: Vec<_> = (0..50).map(|_| resolver.join_or_begin("hooks.test")).collect();
        GATE.open();
        let answers = waiting.into_iter().map(async |mut answer| {
            let answered = answer.wait_for(Option::is_some).await.unwrap().clone();
            answered.unwrap().unwrap()
        });
        assert_eq!(join_all(answers).await, vec![HOME.to_vec(); 50]);
        assert_eq!(LOOK_UPS.load(Ordering::SeqCst), 1);
    }

    const FEW_THREADS: Threads = Threads {
        all: 6,
        unknown: 3,
        slow: 2,
    };

    /// Look-ups of which those of some names wait at a gate, with the count of these.
    struct BlackHoles(Gate, AtomicUsize);

    impl BlackHoles {
        const fn new() -> Self {
            Self(Gate::closed(), AtomicUsize::new(0))
        }

        fn names() -> Vec<String> {
            (0..10)
                .map(|number| format!("black-hole-{number}.test"))
                .collect()
        }

        fn look_up(&self, name: &str) -> Vec<IpAddr> {
            if name.starts_with("black-hole") {
                self.1.fetch_add(1, Ordering::SeqCst);
                self.0.pass();
            }
            HOME.to_vec()
        }

        fn started(&self) -> usize {
            self.1.load(Ordering::SeqCst)
        }
    }

    #[tokio::test]
    async fn names_that_were_never_looked_up_leave_threads_to_those_that_answered() {
        static LOOK_UPS: BlackHoles = BlackHoles::new();
        let resolver = Resolver::with(|name| Ok(LOOK_UPS.look_up(name)), FEW_THREADS);
        assert_eq!(resolver.resolve("good.test").await.unwrap(), HOME);
        let waiting: Vec<_> = BlackHoles::names()
            .iter()
            .map(|name| resolver.join_or_begin(name))
            .collect();
        while LOOK_UPS.started() < FEW_THREADS.unknown {
            tokio::task::yield_now().await;
        }
        assert_eq!(resolver.resolve("good.test").await.unwrap(), HOME);
        assert_eq!(LOOK_UPS.started(), FEW_THREADS.unknown);
        LOOK_UPS.0.open();
        for mut answer in waiting {
            answer.wait_for(Option::is_some).await.unwrap();
        }
    }

    #[test]
    fn names_are_remembered_up_to_a_bound() {
        let mut names = Names::default();
        for number in 0..=REMEMBERED {
            names.note(&format!("{number}.test"), true);
        }
        assert_eq!(names.slow.len(), 1);
        names.note(&format!("{REMEMBERED}.test"), false);
        assert_eq!((names.slow.len(), names.quick.len()), (0, 1));
    }

    #[tokio::test]
    async fn slow_names_leave_threads_to_others_and_one_that_no_one_waits_for_is_not_looked_up() {
        static LOOK_UPS: BlackHoles = BlackHoles::new();
        let resolver = Resolver::with(|name| Ok(LOOK_UPS.look_up(name)), FEW_THREADS);
        let names = BlackHoles::names();
        resolver.shared.names().slow.extend(names.iter().cloned());
        let mut waiting: Vec<_> = names.iter().map(|name| resolver.join_or_begin(name)).collect();
        while LOOK_UPS.started() < 2 {
            tokio::task::yield_now().await;
        }
        // All black holes have asked; two hold their threads, and a name that answers finds one.
        assert_eq!(resolver.resolve("good.test").await.unwrap(), HOME);
        assert_eq!(LOOK_UPS.started(), 2);
        // The others have timed out meanwhile.
        waiting.clear();
        LOOK_UPS.0.open();
        while !resolver.shared.names().running.is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(LOOK_UPS.started(), 2, "no one waited for them");
    }

    #[tokio::test]
    async fn an_error_reaches_all_who_wait() {
        let resolver = Resolver::with(|_| Err(io::Error::other("no such name")), FEW_THREADS);
        let error = resolver.resolve("nowhere.test").await.unwrap_err();
        assert_eq!(error.to_string(), "no such name");
    }
}
