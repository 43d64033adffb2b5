//! Sessions of the console.

use async_trait::async_trait;
use bidloop_domain::model::{
    EmailKey, Member, OrganizationId, Person, Secret, SessionHash, SessionTimes, Subscription, Timestamp,
};
use bidloop_domain::port::{FoundSession, NewSession, SESSIONS_OF_A_PERSON, SessionStore, StoreError};

use super::people::memberships_of;
use super::prelude::*;

#[async_trait]
impl SessionStore for Store {
    async fn open_session(&self, new: &NewSession, verified: &Secret<String>) -> Result<bool, StoreError> {
        let (new, verified, quarantine) = (new.clone(), verified.clone(), self.quarantine.clone());
        self.write(async move |conn: &mut Conn| {
            let person = people::table
                .find(Col(new.person.clone()))
                .select(people::password_hash);
            let stored: Option<Option<Col<Secret<String>>>> =
                for_share!(person).first(conn).await.optional()?;
            match stored.flatten() {
                Some(Col(stored)) if stored == verified => open(conn, &quarantine, &new).await,
                _ => Ok(false),
            }
        })
        .await
    }

    async fn session(&self, hash: &SessionHash) -> Result<Option<FoundSession>, StoreError> {
        type Found = (
            Col<OrganizationId>,
            Row<Person>,
            Row<SessionTimes>,
            Row<Subscription>,
        );
        let (hash, quarantine) = (hash.clone(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| {
            let found: Option<Found> = sessions::table
                .inner_join(people::table.on(people::email_key.eq(sessions::email_key)))
                .inner_join(organizations::table.on(organizations::id.eq(sessions::organization_id)))
                .filter(sessions::token_hash.eq(hash.as_str()))
                .select((
                    sessions::organization_id,
                    Row::<Person>::as_select(),
                    Row::<SessionTimes>::as_select(),
                    Row::<Subscription>::as_select(),
                ))
                .first(conn)
                .await
                .optional()?;
            let Some((Col(shown), Row(person), Row(times), Row(subscription))) = found else {
                return Ok(None);
            };
            let memberships = memberships_of(conn, &quarantine, &person.key).await?;
            let memberships: Vec<_> = memberships
                .into_iter()
                .map(|(membership, _)| membership)
                .collect();
            let organization = memberships
                .iter()
                .find(|membership| membership.organization_id == shown)
                .cloned();
            Ok(organization.map(|organization| FoundSession {
                member: Member {
                    person,
                    organization,
                    subscription,
                },
                memberships,
                times,
            }))
        })
        .await
    }

    async fn record_session_use(&self, hash: &SessionHash, at: Timestamp) -> Result<(), StoreError> {
        let hash = hash.clone();
        self.write(async move |conn: &mut Conn| {
            let session = sessions::table
                .filter(sessions::token_hash.eq(hash.as_str()))
                .filter(sessions::last_used_at.lt(at.as_millis()));
            let used: Option<(String, Col<EmailKey>)> = diesel::update(session)
                .set(sessions::last_used_at.eq(at.as_millis()))
                .returning((sessions::organization_id, sessions::email_key))
                .get_result(conn)
                .await
                .optional()?;
            match used {
                Some((organization, Col(person))) => see(conn, &organization, &person, at).await,
                None => Ok(()),
            }
        })
        .await
    }

    async fn show_organization(
        &self,
        hash: &SessionHash,
        organization: &OrganizationId,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let (hash, organization) = (hash.clone(), organization.clone());
        self.write(async move |conn: &mut Conn| {
            let session = sessions::table
                .filter(sessions::token_hash.eq(hash.as_str()))
                .select((sessions::email_key, Row::<SessionTimes>::as_select()));
            let session: Option<(Col<EmailKey>, Row<SessionTimes>)> = session.first(conn).await.optional()?;
            let Some((Col(person), Row(times))) = session else {
                return Ok(false);
            };
            if !times.is_live_at(at) || !is_locked_member(conn, organization.as_str(), &person).await? {
                return Ok(false);
            }
            let shown = diesel::update(sessions::table.filter(sessions::token_hash.eq(hash.as_str())))
                .set(sessions::organization_id.eq(organization.as_str()))
                .execute(conn)
                .await?;
            see(conn, organization.as_str(), &person, at).await?;
            Ok(shown == 1)
        })
        .await
    }

    async fn end_session(&self, hash: &SessionHash) -> Result<(), StoreError> {
        let hash = hash.clone();
        self.write(async move |conn: &mut Conn| {
            // Waits for the requests that are being accepted on it: they share a lock on the row.
            diesel::delete(sessions::table.filter(sessions::token_hash.eq(hash.as_str())))
                .execute(conn)
                .await?;
            Ok(())
        })
        .await
    }
}

/// Opens a session in the organization that its person saw last; false if there is none.
pub(super) async fn open(
    conn: &mut Conn,
    quarantine: &Quarantine,
    new: &NewSession,
) -> Result<bool, Failure> {
    let memberships = memberships_of(conn, quarantine, &new.person).await?;
    // The first by name of those that were seen at the same time, or never.
    let last_seen = memberships.into_iter().rev().max_by_key(|(_, seen)| *seen);
    match last_seen {
        Some((shown, _)) => open_in(conn, &shown.organization_id, new).await,
        None => Ok(false),
    }
}

/// Opens a session in one of its person's organizations; false if it is none.
pub(super) async fn open_in(
    conn: &mut Conn,
    shown: &OrganizationId,
    new: &NewSession,
) -> Result<bool, Failure> {
    if !is_locked_member(conn, shown.as_str(), &new.person).await? {
        return Ok(false);
    }
    see(conn, shown.as_str(), &new.person, new.at).await?;
    end_oldest(conn, &new.person).await?;
    diesel::insert_into(sessions::table)
        .values((
            sessions::organization_id.eq(shown.as_str()),
            sessions::token_hash.eq(new.hash.as_str()),
            sessions::email_key.eq(Col(new.person.clone())),
            sessions::created_at.eq(new.at.as_millis()),
            sessions::last_used_at.eq(new.at.as_millis()),
        ))
        .execute(conn)
        .await?;
    Ok(true)
}

/// Whether the person is a member. The membership neither ends nor changes until this transaction does.
async fn is_locked_member(conn: &mut Conn, organization: &str, person: &EmailKey) -> Result<bool, Failure> {
    let membership = memberships::table
        .find((organization, Col(person.clone())))
        .select(memberships::organization_id);
    let membership: Option<String> = for_no_key_update!(membership).first(conn).await.optional()?;
    Ok(membership.is_some())
}

/// Ends the sessions that one more would be too many with, those first that were not used for the longest.
async fn end_oldest(conn: &mut Conn, person: &EmailKey) -> Result<(), Failure> {
    let beyond: Vec<String> = sessions::table
        .filter(sessions::email_key.eq(Col(person.clone())))
        .order((sessions::last_used_at.desc(), sessions::token_hash))
        .select(sessions::token_hash)
        .offset(i64::from(SESSIONS_OF_A_PERSON) - 1)
        // SQLite has no offset without a limit.
        .limit(i64::from(SESSIONS_OF_A_PERSON))
        .load(conn)
        .await?;
    if !beyond.is_empty() {
        diesel::delete(sessions::table.filter(one_of!(sessions::token_hash, beyond)))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Notes that the person was seen in the organization.
async fn see(conn: &mut Conn, organization: &str, person: &EmailKey, at: Timestamp) -> Result<(), Failure> {
    let at = at.as_millis();
    let earlier = memberships::last_seen_at
        .is_null()
        .or(memberships::last_seen_at.lt(at));
    let membership = memberships::table.find((organization, Col(person.clone())));
    diesel::update(membership.filter(earlier))
        .set(memberships::last_seen_at.eq(at))
        .execute(conn)
        .await?;
    Ok(())
}
