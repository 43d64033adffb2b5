//! Searching the Activity record, with bounded work whatever is searched for.
//!
//! Each condition and each pair of conditions has an index that ends with the time: such a search reads what it returns.
//! With three conditions, the pair that fewest entries meet chooses the index; with a lead, the lead does. What is left is
//! compared on at most [`WINDOW`] narrow rows. So a pair that few entries meet is answered whole, and what few of many
//! entries meet is answered in steps. Most entries are the service's, so those are in no index of actors.

use bidloop_domain::model::{
    Activity, ActivityId, ActivityKind, ActivityOutcome, ActivityPlace, ActivitySearch, ActorKind,
    FoundActivities, Timestamp, VariantArray as _,
};

use diesel::dsl::sql;
use diesel::sql_types::Bool;

use super::prelude::*;
use crate::columns::{Encoded, InColumn};
use crate::sql_types::EscapedText;

/// The most entries that one step of a search looks at: each may be on a page of its own, so these are some 10 ms.
const WINDOW: i64 = 1_500;
/// How many of those are read at first. Each further read takes more, so that what is common is found soon.
const FIRST_READ: i64 = 200;
/// How much more.
const GROWTH: i64 = 5;

/// The index that a search reads: that of a lead, or that with these conditions. An outcome is a pair of kind and outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Lead,
    Of {
        outcome: bool,
        actor: bool,
        campaign: bool,
    },
}

impl Access {
    const fn has_outcome(self) -> bool {
        matches!(self, Self::Of { outcome: true, .. })
    }

    const fn has_actor(self) -> bool {
        matches!(self, Self::Of { actor: true, .. })
    }

    const fn has_campaign(self) -> bool {
        matches!(self, Self::Of { campaign: true, .. })
    }
}

/// What conditions compare.
type NarrowRow = (
    i64,
    String,
    String,
    String,
    String,
    Option<Encoded>,
    Option<String>,
    Option<String>,
);

/// The entries that one index has of a search, within its time and below a place, newest first.
macro_rules! entries_by {
    ($access:expr, $search:expr, $pair:expr, $below:expr) => {{
        let search: &ActivitySearch = $search;
        let mut found = activities::table
            .filter(activities::organization_id.eq(search.organization_id.as_str()))
            .into_boxed();
        let access: Access = $access;
        if access == Access::Lead {
            let lead = search.lead_id.as_ref().map(|lead| lead.as_str());
            found = found.filter(activities::lead_id.eq(lead));
        }
        if access.has_campaign() {
            let campaign = search.campaign_id.as_ref().map(|campaign| campaign.as_str());
            found = found.filter(activities::campaign_id.eq(campaign));
        }
        if let Some((kind, id)) = search.actor.as_ref().filter(|_| access.has_actor()) {
            found = found.filter(sql::<Bool>("activities.actor_kind <> 'service'"));
            found = found.filter(activities::actor_kind.eq(kind.as_str()));
            found = match id {
                Some(id) => found.filter(activities::actor_id.eq(Some(Col(id.clone())))),
                None => found.filter(activities::actor_id.is_null()),
            };
        }
        if access.has_outcome() {
            let (kind, outcome): (ActivityKind, ActivityOutcome) = $pair;
            found = found
                .filter(activities::kind.eq(kind.as_str()))
                .filter(activities::outcome.eq(outcome.as_str()));
        }
        if let Some(from) = search.from {
            found = found.filter(activities::at.ge(from.as_millis()));
        }
        if let Some(to) = search.to {
            found = found.filter(activities::at.lt(to.as_millis()));
        }
        let below: Option<ActivityPlace> = $below;
        if let Some(below) = below {
            let at = below.at.as_millis();
            found = found
                .filter(activities::at.le(at))
                .filter(activities::at.lt(at).or(activities::id.lt(below.id.to_string())));
        }
        found
    }};
}

/// A step of the search.
pub(super) async fn search(
    conn: &mut Conn,
    quarantine: &Quarantine,
    search: &ActivitySearch,
    below: Option<ActivityPlace>,
    limit: u32,
) -> Result<FoundActivities, Failure> {
    let (places, below) = places(conn, search, below, limit as usize).await?;
    let ids: Vec<String> = places.iter().map(|place| place.id.to_string()).collect();
    let found = activities::table
        .filter(activities::organization_id.eq(search.organization_id.as_str()))
        .filter(one_of!(activities::id, ids));
    let mut entries = load_records!(conn, quarantine, Activity, found);
    entries.sort_unstable_by_key(|entry| std::cmp::Reverse(ActivityPlace::of(entry)));
    Ok(FoundActivities { entries, below })
}

/// How many entries of the search are newer than a place, up to `at_most`, among the newest [`WINDOW`].
pub(super) async fn newer(
    conn: &mut Conn,
    search: &ActivitySearch,
    than: ActivityPlace,
    at_most: u32,
) -> Result<u64, Failure> {
    let mut since = search.clone();
    since.from = Some(search.from.map_or(than.at, |from| from.max(than.at)));
    // One more: the entry itself is among them.
    let (places, _) = places(conn, &since, None, at_most as usize + 1).await?;
    let newer = places.iter().filter(|place| **place > than).count();
    Ok((newer as u64).min(u64::from(at_most)))
}

/// The places of some entries of the search, newest first, and where it goes on.
async fn places(
    conn: &mut Conn,
    search: &ActivitySearch,
    mut below: Option<ActivityPlace>,
    limit: usize,
) -> Result<(Vec<ActivityPlace>, Option<ActivityPlace>), Failure> {
    let (access, is_exact) = access(conn, search, below).await?;
    let (mut found, mut looked_at) = (Vec::new(), 0);
    let mut read = if is_exact {
        stored(limit)
    } else {
        FIRST_READ.max(stored(limit))
    };
    loop {
        let rows = narrow_rows(conn, access, search, below, read).await?;
        let is_last = stored(rows.len()) < read;
        for row in &rows {
            let Some(place) = place(row) else {
                // No id can be compared with it. The inspection of the table reports it.
                continue;
            };
            below = Some(place);
            if is_exact || meets(search, row) {
                found.push(place);
                if found.len() >= limit {
                    return Ok((found, below));
                }
            }
        }
        looked_at += read;
        if is_last {
            return Ok((found, None));
        }
        if looked_at >= WINDOW {
            return Ok((found, below));
        }
        read = (read * GROWTH).min(WINDOW - looked_at).max(1);
    }
}

fn place(row: &NarrowRow) -> Option<ActivityPlace> {
    let id = row.1.parse().ok()?;
    Some(ActivityPlace {
        at: Timestamp::from_millis(row.0),
        id: ActivityId(id),
    })
}

fn meets(search: &ActivitySearch, row: &NarrowRow) -> bool {
    let (_, _, kind, outcome, actor_kind, actor_id, campaign, lead) = row;
    let is_actor = |(wanted, id): &(ActorKind, Option<String>)| {
        let stored: Option<String> = actor_id
            .as_ref()
            .and_then(|id| InColumn::<EscapedText>::read(id.clone()).ok());
        wanted.as_str() == actor_kind && *id == stored
    };
    search.kind.is_none_or(|wanted| wanted.as_str() == kind)
        && search.outcome.is_none_or(|wanted| wanted.as_str() == outcome)
        && search.actor.as_ref().is_none_or(is_actor)
        && search
            .campaign_id
            .as_ref()
            .is_none_or(|wanted| campaign.as_deref() == Some(wanted.as_str()))
        && search
            .lead_id
            .as_ref()
            .is_none_or(|wanted| lead.as_deref() == Some(wanted.as_str()))
}

/// The pairs of kind and outcome that the search allows. The index has each in the order of time.
fn pairs(search: &ActivitySearch) -> impl Iterator<Item = (ActivityKind, ActivityOutcome)> {
    let (kind, outcome) = (search.kind, search.outcome);
    let kinds = ActivityKind::VARIANTS.iter().copied();
    let outcomes = || ActivityOutcome::VARIANTS.iter().copied();
    kinds
        .filter(move |known| kind.is_none_or(|kind| kind == *known))
        .flat_map(move |kind| outcomes().map(move |outcome| (kind, outcome)))
        .filter(move |(_, known)| outcome.is_none_or(|outcome| outcome == *known))
}

/// The index to read, and whether all that it has is searched for.
async fn access(
    conn: &mut Conn,
    search: &ActivitySearch,
    below: Option<ActivityPlace>,
) -> Result<(Access, bool), Failure> {
    let (outcome, actor, campaign) = (
        search.kind.is_some() || search.outcome.is_some(),
        search
            .actor
            .as_ref()
            .is_some_and(|(kind, _)| *kind != ActorKind::Service),
        search.campaign_id.is_some(),
    );
    let is_by_service = search.actor.is_some() && !actor;
    if search.lead_id.is_some() {
        return Ok((Access::Lead, !(outcome || actor || campaign || is_by_service)));
    }
    let given = Access::Of {
        outcome,
        actor,
        campaign,
    };
    if !(outcome && actor && campaign) {
        return Ok((given, !is_by_service));
    }
    let pairs = [(true, false, true), (true, true, false), (false, true, true)];
    let mut best = (i64::MAX, given);
    for (outcome, actor, campaign) in pairs {
        let pair = Access::Of {
            outcome,
            actor,
            campaign,
        };
        // Of equals the first is kept.
        let count = count_up_to_window(conn, pair, search, below).await?;
        if count < best.0 {
            best = (count, pair);
        }
    }
    Ok((best.1, false))
}

async fn count_up_to_window(
    conn: &mut Conn,
    access: Access,
    search: &ActivitySearch,
    below: Option<ActivityPlace>,
) -> Result<i64, Failure> {
    let mut total = 0;
    for pair in ranges(access, search) {
        let some = entries_by!(access, search, pair, below)
            .select(activities::at)
            .limit(WINDOW + 1 - total);
        let times: Vec<i64> = some.load(conn).await?;
        total += stored(times.len());
        if total > WINDOW {
            break;
        }
    }
    Ok(total)
}

/// One range of the index, or one for each pair. Other accesses ignore the pair.
fn ranges(access: Access, search: &ActivitySearch) -> Vec<(ActivityKind, ActivityOutcome)> {
    if access.has_outcome() {
        pairs(search).collect()
    } else {
        vec![(ActivityKind::Bid, ActivityOutcome::Accepted)]
    }
}

async fn narrow_rows(
    conn: &mut Conn,
    access: Access,
    search: &ActivitySearch,
    below: Option<ActivityPlace>,
    limit: i64,
) -> Result<Vec<NarrowRow>, Failure> {
    let mut rows: Vec<NarrowRow> = Vec::new();
    let ranges = ranges(access, search);
    let is_one = ranges.len() == 1;
    for pair in ranges {
        let entries = entries_by!(access, search, pair, below);
        let entries = if access.has_actor() {
            // The actor is the same in all of them. If it has no id, PostgreSQL knows their order only if it is named.
            entries.order((
                activities::actor_id.desc(),
                activities::at.desc(),
                activities::id.desc(),
            ))
        } else {
            entries.order((activities::at.desc(), activities::id.desc()))
        };
        let some = entries.limit(limit).select((
            activities::at,
            activities::id,
            activities::kind,
            activities::outcome,
            activities::actor_kind,
            activities::actor_id,
            activities::campaign_id,
            activities::lead_id,
        ));
        rows.append(&mut some.load(conn).await?);
    }
    if !is_one {
        rows.sort_unstable_by(|a, b| (b.0, &b.1).cmp(&(a.0, &a.1)));
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok(rows)
}
