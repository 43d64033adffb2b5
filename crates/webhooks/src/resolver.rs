//! Looks up names with the operating system's resolver, on threads of its own.
//!
//! The system's resolver knows what a DNS client of our own would not: hosts files, search domains, the resolvers of a VPN
//! or a container platform. But a look-up cannot be cancelled. One of a name whose servers do not answer lasts half a
//! minute, long after the attempt that asked has timed out. So look-ups have threads of their own, not those that Tokio
//! shares with file I/O; a name is looked up once at a time, whoever asks; and names that were slow take at most half of
//! the threads, so that names which answer always find one.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, watch};

/// Look-ups that run at the same time: as many as deliveries are in flight in a process.
const THREADS: usize = 256;
/// How many of them names take that were slow before.
const SLOW_THREADS: usize = THREADS / 2;
/// A look-up that takes longer is slow.
const SLOW: Duration = Duration::from_secs(2);
/// How many slow names are remembered.
const REMEMBERED: usize = 1_024;
/// The resolver needs little stack, and libraries that it loads a little more.
const STACK: usize = 512 * 1024;

/// The addresses of a name, or why there are none.
type Answer = Result<Vec<IpAddr>, Arc<str>>;
type LookUp = fn(&str) -> io::Result<Vec<IpAddr>>;

/// Looks up names. Clones share their threads.
#[derive(Clone)]
pub(crate) struct Resolver {
    shared: Arc<Shared>,
}

struct Shared {
    look_up: LookUp,
    names: Mutex<Names>,
    threads: Arc<Semaphore>,
    slow_threads: Arc<Semaphore>,
}

#[derive(Default)]
struct Names {
    /// The running look-ups, and those that wait for a thread.
    running: HashMap<String, watch::Sender<Option<Answer>>>,
    slow: HashSet<String>,
}

impl Default for Resolver {
    fn default() -> Self {
        Self::with(system_look_up, THREADS, SLOW_THREADS)
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

impl Resolver {
    fn with(look_up: LookUp, threads: usize, slow_threads: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                look_up,
                names: Mutex::default(),
                threads: Arc::new(Semaphore::new(threads)),
                slow_threads: Arc::new(Semaphore::new(slow_threads)),
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
        let is_slow = names.slow.contains(name);
        drop(names);
        tokio::spawn(begin(Arc::clone(&self.shared), name.to_owned(), is_slow));
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
        if took < SLOW {
            names.slow.remove(name);
        } else if names.slow.len() < REMEMBERED {
            names.slow.insert(name.to_owned());
        }
        if let Some(waiting) = names.running.remove(name) {
            waiting.send_replace(Some(answer));
        }
    }
}

/// Begins the look-up once there is a thread for it.
async fn begin(shared: Arc<Shared>, name: String, is_slow: bool) {
    let slow_place = if is_slow {
        Arc::clone(&shared.slow_threads).acquire_owned().await.ok()
    } else {
        None
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
        drop((place, slow_place));
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
        let resolver = Resolver::with(look_up, 8, 4);
        let waiting: Vec<_> = (0..50).map(|_| resolver.join_or_begin("hooks.test")).collect();
        GATE.open();
        let answers = waiting.into_iter().map(async |mut answer| {
            let answered = answer.wait_for(Option::is_some).await.unwrap().clone();
            answered.unwrap().unwrap()
        });
        assert_eq!(join_all(answers).await, vec![HOME.to_vec(); 50]);
        assert_eq!(LOOK_UPS.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn slow_names_leave_threads_to_others_and_one_that_no_one_waits_for_is_not_looked_up() {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        static GATE: Gate = Gate::closed();
        let look_up: LookUp = |name| {
            if name.starts_with("black-hole") {
                STARTED.fetch_add(1, Ordering::SeqCst);
                GATE.pass();
            }
            Ok(HOME.to_vec())
        };
        let resolver = Resolver::with(look_up, 4, 2);
        let names: Vec<String> = (0..10)
            .map(|number| format!("black-hole-{number}.test"))
            .collect();
        resolver.shared.names().slow.extend(names.iter().cloned());
        let mut waiting: Vec<_> = names.iter().map(|name| resolver.join_or_begin(name)).collect();
        while STARTED.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
        // All black holes have asked; two hold their threads, and a name that answers finds one.
        assert_eq!(resolver.resolve("good.test").await.unwrap(), HOME);
        assert_eq!(STARTED.load(Ordering::SeqCst), 2);
        // The others have timed out meanwhile.
        waiting.clear();
        GATE.open();
        while !resolver.shared.names().running.is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(STARTED.load(Ordering::SeqCst), 2, "no one waited for them");
    }

    #[tokio::test]
    async fn an_error_reaches_all_who_wait() {
        let resolver = Resolver::with(|_| Err(io::Error::other("no such name")), 1, 1);
        let error = resolver.resolve("nowhere.test").await.unwrap_err();
        assert_eq!(error.to_string(), "no such name");
    }
}
