//! Open pages: one look at the organizations that somebody watches serves all streams (`GET /events`).
//!
//! A stream carries no data: it says that something changed, and the page asks for the part that shows it, with its
//! session. So a stream that outlives its session by some minutes tells nothing that matters.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bidloop_domain::model::{CampaignId, OrganizationId, SessionHash};
use bidloop_domain::port::OverviewStore;
use bidloop_domain::use_case::{NoticeChanges, NoticedChange};
use bytes::Bytes;
use futures::future::{Either, select};
use futures::stream::{self, Stream};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::time::{Instant, interval, timeout_at};

/// How often the watched organizations are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The most streams of the process.
const MAX_STREAMS: usize = 2_000;
/// The most streams of a session. A browser opens six connections to a host, and pages need some of them. Another stream
/// takes the place of the oldest: that is mostly of a page that was left, which is noticed only at the next ping.
const MAX_STREAMS_OF_SESSION: usize = 4;
/// How long a stream says nothing. Proxies end streams that are silent for a minute.
const PING_EVERY: Duration = Duration::from_secs(15);
/// How long a stream lasts. The browser opens another one at once.
const LASTS: Duration = Duration::from_secs(600);
/// Changes that a slow stream may be behind. One that is further behind is told that all changed.
const BEHIND: usize = 256;

type Change = (OrganizationId, NoticedChange);

/// The open streams of the process.
#[derive(Debug)]
pub struct Streams {
    store: Arc<dyn OverviewStore>,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    by_organization: HashMap<OrganizationId, usize>,
    /// Of each session, the oldest first: its number, and what tells it that another one took its place.
    by_session: HashMap<SessionHash, Vec<(u64, oneshot::Sender<()>)>>,
    total: usize,
    /// How many have been opened.
    opened: u64,
    /// `None` once the process stops.
    changes: Option<Sender<Change>>,
    /// Whether a task looks.
    is_watched: bool,
}

impl Streams {
    /// No stream is open yet.
    pub fn new(store: Arc<dyn OverviewStore>) -> Arc<Self> {
        let (changes, _) = broadcast::channel(BEHIND);
        Arc::new(Self {
            store,
            open: Mutex::new(Open {
                by_organization: HashMap::new(),
                by_session: HashMap::new(),
                total: 0,
                opened: 0,
                changes: Some(changes),
                is_watched: false,
            }),
        })
    }

    /// Ends all streams, and opens no more.
    pub fn close(&self) {
        self.open().changes = None;
    }

    /// Opens a stream of an organization's changes; of its campaigns', only those of this one. `None` if there are too
    /// many, or if the process stops.
    pub(crate) fn watch(
        self: &Arc<Self>,
        organization: OrganizationId,
        campaign: Option<CampaignId>,
        session: SessionHash,
    ) -> Option<impl Stream<Item = Result<Bytes, Infallible>> + use<>> {
        let (replace, replaced) = oneshot::channel();
        let (changes, number) = {
            let mut open = self.open();
            if open.total >= MAX_STREAMS {
                return None;
            }
            let changes = open.changes.as_ref()?.subscribe();
            open.total += 1;
            open.opened += 1;
            let number = open.opened;
            *open.by_organization.entry(organization.clone()).or_default() += 1;
            let of_session = open.by_session.entry(session.clone()).or_default();
            if of_session.len() >= MAX_STREAMS_OF_SESSION {
                let (_, oldest) = of_session.remove(0);
                // It may be ending by itself.
                let _told = oldest.send(());
            }
            of_session.push((number, replace));
            if !std::mem::replace(&mut open.is_watched, true) {
                tokio::spawn(Self::look(Arc::clone(self)));
            }
            (changes, number)
        };
        let seat = Seat {
            streams: Arc::clone(self),
            organization,
            session,
            number,
        };
        let watching = Watching {
            seat,
            campaign,
            changes,
            replaced,
            ends_at: Instant::now() + LASTS,
            is_new: true,
            is_over: false,
        };
        Some(stream::unfold(watching, Watching::next))
    }

    /// Looks at what is watched until nobody watches.
    async fn look(self: Arc<Self>) {
        let mut notice = NoticeChanges::new(Arc::clone(&self.store));
        let mut looks = interval(LOOK_EVERY);
        loop {
            looks.tick().await;
            let Some((watched, changes)) = self.watched() else {
                return;
            };
            match notice.look(&watched).await {
                // Nobody receives what nobody watches any more.
                Ok(noticed) => noticed.into_iter().for_each(|change| drop(changes.send(change))),
                Err(error) => tracing::warn!(%error, "open pages are not told of changes now"),
            }
        }
    }

    fn watched(&self) -> Option<(Vec<OrganizationId>, Sender<Change>)> {
        let mut open = self.open();
        let changes = open.changes.clone().filter(|_| open.total > 0);
        open.is_watched = changes.is_some();
        Some((open.by_organization.keys().cloned().collect(), changes?))
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream's place among the open ones, until it is dropped.
#[derive(Debug)]
struct Seat {
    streams: Arc<Streams>,
    organization: OrganizationId,
    session: SessionHash,
    number: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.streams.open();
        open.total = open.total.saturating_sub(1);
        if let Some(count) = open.by_organization.get_mut(&self.organization) {
            *count -= 1;
            if *count == 0 {
                open.by_organization.remove(&self.organization);
            }
        }
        if let Some(of_session) = open.by_session.get_mut(&self.session) {
            of_session.retain(|(number, _)| *number != self.number);
            if of_session.is_empty() {
                open.by_session.remove(&self.session);
            }
        }
    }
}

struct Watching {
    seat: Seat,
    campaign: Option<CampaignId>,
    changes: Receiver<Change>,
    replaced: oneshot::Receiver<()>,
    ends_at: Instant,
    /// Nothing was sent yet.
    is_new: bool,
    /// Its last words were sent.
    is_over: bool,
}

/// What was changed before the stream was open is told at its beginning.
const ALL_CHANGED: &[u8] = b"event: matches\ndata:\n\nevent: activity\ndata:\n\n";
const MATCHES: &[u8] = b"event: matches\ndata:\n\n";
const ACTIVITY: &[u8] = b"event: activity\ndata:\n\n";
const PING: &[u8] = b":\n\n";
/// The last words of a stream that another one replaced, if a page still reads it: it is to wait for a minute before it
/// opens one again. So pages of one session that are too many do not replace each other all the time.
const REPLACED: &[u8] = b"retry: 60000\n\n";

impl Watching {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if std::mem::replace(&mut self.is_new, false) {
            return Some((Ok(Bytes::from_static(ALL_CHANGED)), self));
        }
        if self.is_over {
            return None;
        }
        let pause = (Instant::now() + PING_EVERY).min(self.ends_at);
        let told = loop {
            let told = match select(&mut self.replaced, pin!(timeout_at(pause, self.changes.recv()))).await {
                Either::Left(_) => {
                    self.is_over = true;
                    break REPLACED;
                }
                Either::Right((told, _)) => told,
            };
            match told {
                Ok(Ok((organization, change))) if organization == self.seat.organization => match change {
                    NoticedChange::Activity => break ACTIVITY,
                    NoticedChange::Matches(of) if self.campaign.as_ref().is_none_or(|only| *only == of) => {
                        break MATCHES;
                    }
                    NoticedChange::Matches(_) => {}
                },
                Ok(Ok(_)) => {}
                Ok(Err(RecvError::Lagged(_))) => break ALL_CHANGED,
                Ok(Err(RecvError::Closed)) => return None,
                Err(_) if Instant::now() >= self.ends_at => return None,
                Err(_) => break PING,
            }
        };
        Some((Ok(Bytes::from_static(told)), self))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use bidloop_domain::model::{SessionToken, Timestamp};
    use bidloop_domain::port::{
        InstallationState, OrganizationFacts, OrganizationName, OrganizationSigns, OrganizationSummary,
        ShellFacts, StoreError,
    };
    use futures::StreamExt as _;

    use super::*;

    /// Counts looks; every organization has one campaign.
    #[derive(Debug, Default)]
    struct Looks {
        looks: AtomicUsize,
    }

    #[async_trait]
    impl OverviewStore for Looks {
        async fn organizations(
            &self,
            _: Option<&OrganizationId>,
            _: u32,
        ) -> Result<Vec<OrganizationName>, StoreError> {
            Ok(Vec::new())
        }

        async fn summaries(
            &self,
            _: Option<&OrganizationId>,
            _: u32,
            _: Timestamp,
        ) -> Result<Vec<OrganizationSummary>, StoreError> {
            Ok(Vec::new())
        }

        async fn installation_state(&self, _: Timestamp) -> Result<InstallationState, StoreError> {
            Ok(InstallationState::default())
        }

        async fn shell(&self, _: &OrganizationId, _: Timestamp) -> Result<Option<ShellFacts>, StoreError> {
            Ok(None)
        }

        async fn facts(
            &self,
            _: &OrganizationId,
            _: Timestamp,
        ) -> Result<Option<OrganizationFacts>, StoreError> {
            Ok(None)
        }

        async fn signs(
            &self,
            organizations: &[OrganizationId],
        ) -> Result<Vec<OrganizationSigns>, StoreError> {
            self.looks.fetch_add(1, Ordering::SeqCst);
            let signs = organizations.iter().map(|id| OrganizationSigns {
                organization_id: id.clone(),
                matches: vec![(CampaignId::parse("camp").unwrap(), 7)],
                newest_activity: None,
            });
            Ok(signs.collect())
        }
    }

    fn session(number: u8) -> SessionHash {
        SessionToken::from_random([number; 32]).hash()
    }

    type Open = Pin<Box<dyn Stream<Item = Result<Bytes, Infallible>> + Send>>;

    fn open(streams: &Arc<Streams>, number: u8) -> Option<Open> {
        let organization = OrganizationId::parse("org_acme").unwrap();
        let stream = streams.watch(organization, None, session(number))?;
        Some(Box::pin(stream))
    }

    async fn next(stream: &mut Open) -> Option<Bytes> {
        let next = tokio::time::timeout(Duration::from_secs(20), stream.next()).await;
        next.expect("an event or the end").map(Result::unwrap)
    }

    #[tokio::test]
    async fn a_fifth_stream_of_a_session_takes_the_place_of_its_oldest() {
        let streams = Streams::new(Arc::new(Looks::default()));
        let mut other = open(&streams, 2).unwrap();
        let mut opened: Vec<Open> = (0..5).map(|_| open(&streams, 1).unwrap()).collect();
        for stream in opened.iter_mut().chain([&mut other]) {
            assert_eq!(next(stream).await.unwrap(), ALL_CHANGED);
        }
        assert_eq!(next(&mut opened[0]).await.unwrap(), REPLACED);
        assert_eq!(next(&mut opened[0]).await, None);
        for stream in opened.iter_mut().skip(1).chain([&mut other]) {
            assert_eq!(next(stream).await.unwrap(), MATCHES);
        }
        // One that is closed makes room.
        drop(opened.remove(1));
        let mut another = open(&streams, 1).unwrap();
        assert_eq!(next(&mut another).await.unwrap(), ALL_CHANGED);
        assert_eq!(streams.open().by_session[&session(1)].len(), 4);
        assert_eq!(streams.open().total, 5);
        drop((opened, other, another));
        assert!(streams.open().by_session.is_empty());
        assert_eq!(streams.open().total, 0);
    }

    #[tokio::test]
    async fn one_look_serves_all_streams() {
        let store = Arc::new(Looks::default());
        let streams = Streams::new(store.clone());
        let mut opened: Vec<Open> = (0..200)
            .map(|number| open(&streams, number / 4).unwrap())
            .collect();
        for stream in &mut opened {
            assert_eq!(next(stream).await.unwrap(), ALL_CHANGED);
        }
        for stream in &mut opened {
            while next(stream).await.unwrap() != MATCHES {}
        }
        let looks = store.looks.load(Ordering::SeqCst);
        assert!(looks <= 3, "{looks} looks");
    }

    #[tokio::test]
    async fn streams_end_when_the_process_stops() {
        let streams = Streams::new(Arc::new(Looks::default()));
        let mut stream = open(&streams, 1).unwrap();
        assert_eq!(next(&mut stream).await.unwrap(), ALL_CHANGED);
        streams.close();
        while let Some(told) = next(&mut stream).await {
            assert_ne!(told, PING);
        }
        assert!(open(&streams, 1).is_none());
    }
}
