//! People and their memberships.
//!
//! Whatever changes a person or a membership locks the revision counter, and raises it: so such changes come one after the
//! other, and a provisioning plan that was made before is made again. Opening a session does not. It shares a lock on the
//! person, and locks the membership, for which the end of either waits.

use std::collections::BTreeSet;

use async_trait::async_trait;
use bidloop_domain::model::{
    Activity, EmailKey, LinkHash, LinkKind, MemberRole, Membership, OneTimeLink, OrganizationId,
    PersonalTokenHash, PersonalTokenId, Secret, SessionHash, Timestamp,
};
use bidloop_domain::port::{
    FoundPersonalToken, OrganizationPeople, PeopleChange, PeopleStore, Revision, StoreError, StoredPerson,
    UserRecord,
};
use diesel::dsl::{exists, not, sql};
use diesel::sql_types::Bool;

use super::activities::insert_activity;
use super::filter_changes::move_revision;
use super::prelude::*;
use super::provisioning::lock_organizations;
use super::sessions::open_in;
use super::sign_ins::locked_revision;
use crate::columns::{Encoded, InColumn};
use crate::records::{StoredLink, StoredMembership};
use crate::sql_types::EscapedText;

mod everywhere;

/// Whether a key holds other characters than those of ASCII.
const BEYOND_ASCII: &str = "octet_length(email_key) <> length(email_key)";

#[async_trait]
impl PeopleStore for Store {
    async fn person(&self, key: &EmailKey) -> Result<Option<StoredPerson>, StoreError> {
        let key = key.clone();
        self.read(async move |conn: &mut Conn| {
            let person = people::table
                .find(Col(key))
                .select((Row::<StoredPerson>::as_select(),));
            let found: Option<(Row<StoredPerson>,)> = person.first(conn).await.optional()?;
            Ok(found.map(|(found,)| found.0))
        })
        .await
    }

    async fn organization_people(
        &self,
        organization: &OrganizationId,
        asked: &[EmailKey],
    ) -> Result<Option<OrganizationPeople>, StoreError> {
        let (organization, asked) = (organization.clone(), asked.to_vec());
        let quarantine = self.quarantine.clone();
        self.snapshot(async move |conn: &mut Conn| {
            everywhere::organization_people(conn, &quarantine, &organization, &asked).await
        })
        .await
    }

    async fn link(&self, hash: &LinkHash) -> Result<Option<OneTimeLink>, StoreError> {
        let hash = hash.clone();
        self.read(async move |conn: &mut Conn| {
            let link = one_time_links::table
                .filter(one_time_links::token_hash.eq(hash.as_str()))
                .select(Row::<StoredLink>::as_select());
            let found: Option<Row<StoredLink>> = link.first(conn).await.optional()?;
            Ok(found.map(|found| found.0.into()))
        })
        .await
    }

    async fn commit_people(
        &self,
        expected: Revision,
        changes: &[PeopleChange],
        record: &[Activity],
    ) -> Result<bool, StoreError> {
        let (changes, record) = (changes.to_vec(), record.to_vec());
        self.write(async move |conn: &mut Conn| {
            let before = locked_revision(conn).await?;
            if before.value != expected.0 {
                return Ok(false);
            }
            let organizations = changes.iter().filter_map(|change| match change {
                PeopleChange::PutMembership(id, ..) | PeopleChange::RemoveMember(id, _) => Some(id.as_str()),
                _ => None,
            });
            lock_organizations(conn, organizations.collect()).await?;
            for change in &changes {
                carry_out(conn, change).await?;
            }
            for entry in &record {
                insert_activity(conn, entry).await?;
            }
            move_revision(conn, before, before.value + 1, &BTreeSet::new()).await?;
            Ok(true)
        })
        .await
    }

    async fn token(&self, hash: &PersonalTokenHash) -> Result<Option<FoundPersonalToken>, StoreError> {
        let hash = hash.clone();
        self.read(async move |conn: &mut Conn| everywhere::token(conn, &hash).await)
            .await
    }

    async fn record_token_use(
        &self,
        organization: &OrganizationId,
        token: &PersonalTokenId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (organization, token) = (organization.clone(), token.clone());
        self.write(async move |conn: &mut Conn| {
            let at = at.as_millis();
            let token = personal_tokens::table.find((organization.as_str(), token.as_str()));
            let earlier = personal_tokens::last_used_at
                .is_null()
                .or(personal_tokens::last_used_at.lt(at));
            diesel::update(token.filter(earlier))
                .set(personal_tokens::last_used_at.eq(at))
                .execute(conn)
                .await?;
            Ok(())
        })
        .await
    }
}

async fn carry_out(conn: &mut Conn, change: &PeopleChange) -> Result<(), Failure> {
    match change {
        PeopleChange::CreatePerson(new) => {
            diesel::insert_into(people::table)
                .values(new.columns()?)
                .execute(conn)
                .await?;
        }
        PeopleChange::SetPassword { person, hash, kept } => {
            diesel::update(people::table.find(Col(person.clone())))
                .set(people::password_hash.eq(Some(Col(hash.clone()))))
                .execute(conn)
                .await?;
            end_sessions_but(conn, person, kept.as_ref()).await?;
            let resets = one_time_links::table
                .filter(one_time_links::email_key.eq(Col(person.clone())))
                .filter(one_time_links::kind.eq(LinkKind::Reset.as_str()));
            diesel::delete(resets).execute(conn).await?;
        }
        PeopleChange::PutMembership(organization, person, role) => {
            put_membership(conn, organization, person, *role).await?;
        }
        PeopleChange::RemoveMember(organization, person) => remove_member(conn, organization, person).await?,
        PeopleChange::PutLink(link, hash) => {
            let link = StoredLink::from(link);
            diesel::insert_into(one_time_links::table)
                .values((link.columns()?, one_time_links::token_hash.eq(hash.as_str())))
                .execute(conn)
                .await?;
        }
        PeopleChange::RemoveLink(organization, link) => {
            diesel::delete(one_time_links::table.find((organization.as_str(), link.as_str())))
                .execute(conn)
                .await?;
        }
        PeopleChange::PutToken(token, hash) => {
            diesel::insert_into(personal_tokens::table)
                .values((token.columns()?, personal_tokens::token_hash.eq(hash.as_str())))
                .execute(conn)
                .await?;
        }
        PeopleChange::RevokeToken(organization, token, at) => {
            let token = personal_tokens::table.find((organization.as_str(), token.as_str()));
            // What is being accepted on the token shares a lock on its row, and ends before the token does.
            let _locked: Option<String> = for_update!(token.select(personal_tokens::id))
                .first(conn)
                .await
                .optional()?;
            diesel::update(token.filter(personal_tokens::revoked_at.is_null()))
                .set(personal_tokens::revoked_at.eq(at.as_millis()))
                .execute(conn)
                .await?;
        }
        PeopleChange::RemoveToken(organization, token) => {
            diesel::delete(personal_tokens::table.find((organization.as_str(), token.as_str())))
                .execute(conn)
                .await?;
        }
        PeopleChange::OpenSession(new, organization) => {
            if !open_in(conn, organization, new).await? {
                return Err(Failure::fault("a session of somebody who is no member"));
            }
        }
    }
    Ok(())
}

/// The people with these keys that can be read.
pub(super) async fn people_with(
    conn: &mut Conn,
    quarantine: &Quarantine,
    keys: &[EmailKey],
) -> Result<Vec<StoredPerson>, Failure> {
    let keys: Result<Vec<Encoded>, _> = keys.iter().map(InColumn::<EscapedText>::written).collect();
    let people = people::table.filter(one_of!(people::email_key, keys?));
    Ok(load_records!(conn, quarantine, StoredPerson, people))
}

/// A person's memberships, by the organizations' names, each with when the person was last seen there.
pub(super) async fn memberships_of(
    conn: &mut Conn,
    quarantine: &Quarantine,
    person: &EmailKey,
) -> Result<Vec<(Membership, Option<Timestamp>)>, Failure> {
    type Found = (
        Attempt<Col<OrganizationId>>,
        Attempt<Col<String>>,
        Tried<StoredMembership>,
    );
    let rows: Vec<Found> = memberships::table
        .inner_join(organizations::table.on(organizations::id.eq(memberships::organization_id)))
        .filter(memberships::email_key.eq(Col(person.clone())))
        .select((
            memberships::organization_id,
            organizations::name,
            Tried::<StoredMembership>::as_select(),
        ))
        .load(conn)
        .await?;
    let mut found = Vec::with_capacity(rows.len());
    for (id, name, stored) in rows {
        // An organization that cannot be read is nobody's, as for every other reader.
        if let (Ok(Col(organization_id)), Ok(Col(organization_name)), Some(stored)) =
            (id.0, name.0, stored.or_aside(quarantine))
        {
            let membership = Membership {
                organization_id,
                organization_name,
                role: stored.role,
            };
            found.push((membership, stored.last_seen_at));
        }
    }
    found.sort_by(|(one, _), (other, _)| {
        let key = |membership: &Membership| {
            (
                membership.organization_name.clone(),
                membership.organization_id.clone(),
            )
        };
        key(one).cmp(&key(other))
    });
    Ok(found)
}

/// Puts a person and the person's membership.
pub(super) async fn put_user(
    conn: &mut Conn,
    organization: &OrganizationId,
    user: &UserRecord,
) -> Result<(), Failure> {
    let key = EmailKey::of(&user.email);
    let before = people::table.find(Col(key.clone())).select(people::password_hash);
    let before: Option<Attempt<Option<Col<Secret<String>>>>> =
        for_update!(before).first(conn).await.optional()?;
    let fields = (
        people::email.eq(Col(user.email.clone())),
        people::name.eq(Col(user.name.clone())),
        people::password_hash.eq(user.password_hash.clone().map(Col)),
    );
    let row = (people::email_key.eq(Col(key.clone())), fields.clone());
    put!(conn, people, row, fields);
    let is_other = before.is_some_and(|before| {
        before.0.map(|hash| hash.map(|hash| hash.0)).as_ref() != Ok(&user.password_hash)
    });
    if is_other {
        end_sessions(conn, &key, None).await?;
    }
    put_membership(conn, organization, &key, user.role).await
}

/// Makes a person a member, or gives a member this role. Another role ends the sessions that show the organization.
pub(super) async fn put_membership(
    conn: &mut Conn,
    organization: &OrganizationId,
    person: &EmailKey,
    role: MemberRole,
) -> Result<(), Failure> {
    let key = (organization.as_str(), Col(person.clone()));
    let before = memberships::table.find(key).select(memberships::role);
    let before: Option<String> = for_update!(before).first(conn).await.optional()?;
    let field = memberships::role.eq(role.as_str());
    let row = (
        memberships::organization_id.eq(organization.as_str()),
        memberships::email_key.eq(Col(person.clone())),
        field,
    );
    put!(conn, memberships, row, field);
    match before {
        Some(before) if before != role.as_str() => end_sessions(conn, person, Some(organization)).await,
        _ => Ok(()),
    }
}

/// Ends the person's sessions, all of them or those that show the organization. Requests that are being accepted on them
/// share a lock on their rows, so this waits for them.
pub(super) async fn end_sessions(
    conn: &mut Conn,
    person: &EmailKey,
    organization: Option<&OrganizationId>,
) -> Result<(), Failure> {
    let of_person = sessions::table.filter(sessions::email_key.eq(Col(person.clone())));
    match organization {
        None => diesel::delete(of_person).execute(conn).await?,
        Some(organization) => {
            let shown = of_person.filter(sessions::organization_id.eq(organization.as_str()));
            diesel::delete(shown).execute(conn).await?
        }
    };
    Ok(())
}

/// Ends the person's sessions but one.
async fn end_sessions_but(
    conn: &mut Conn,
    person: &EmailKey,
    kept: Option<&SessionHash>,
) -> Result<(), Failure> {
    let others = sessions::table
        .filter(sessions::email_key.eq(Col(person.clone())))
        .filter(sessions::token_hash.ne(kept.map_or("", SessionHash::as_str)));
    diesel::delete(others).execute(conn).await?;
    Ok(())
}

/// Removes a membership with what hangs on it, and the person if it was the last.
pub(super) async fn remove_member(
    conn: &mut Conn,
    organization: &OrganizationId,
    person: &EmailKey,
) -> Result<(), Failure> {
    let membership = memberships::table.find((organization.as_str(), Col(person.clone())));
    // Before the sessions: one that is being opened locks the membership.
    diesel::delete(membership).execute(conn).await?;
    end_sessions(conn, person, Some(organization)).await?;
    let of_person = personal_tokens::table.filter(personal_tokens::organization_id.eq(organization.as_str()));
    diesel::delete(of_person.filter(personal_tokens::email_key.eq(Col(person.clone()))))
        .execute(conn)
        .await?;
    let of_person = one_time_links::table.filter(one_time_links::organization_id.eq(organization.as_str()));
    diesel::delete(of_person.filter(one_time_links::email_key.eq(Col(person.clone()))))
        .execute(conn)
        .await?;
    let of_person = feed_looks::table.filter(feed_looks::organization_id.eq(organization.as_str()));
    diesel::delete(of_person.filter(feed_looks::email_key.eq(Col(person.as_str().to_owned()))))
        .execute(conn)
        .await?;
    remove_if_nowhere(conn, vec![InColumn::<EscapedText>::written(person)?]).await
}

/// Removes everybody from an organization, also where a row cannot be read.
pub(super) async fn remove_members(conn: &mut Conn, organization: &OrganizationId) -> Result<(), Failure> {
    let members = memberships::table.filter(memberships::organization_id.eq(organization.as_str()));
    let members: Vec<Encoded> = diesel::delete(members)
        .returning(memberships::email_key)
        .load(conn)
        .await?;
    macro_rules! delete_all {
        ($($table:ident),+) => {$(
            diesel::delete($table::table.filter($table::organization_id.eq(organization.as_str())))
                .execute(conn)
                .await?;
        )+};
    }
    delete_all!(sessions, personal_tokens, one_time_links);
    remove_if_nowhere(conn, members).await
}

async fn remove_if_nowhere(conn: &mut Conn, people: Vec<Encoded>) -> Result<(), Failure> {
    let nowhere = people::table
        .filter(one_of!(people::email_key, people))
        .filter(not(exists(
            memberships::table.filter(memberships::email_key.eq(people::email_key)),
        )));
    diesel::delete(nowhere).execute(conn).await?;
    Ok(())
}

impl Store {
    /// [Folds](fold_keys) the keys of people that are to be folded.
    pub(crate) async fn fold_what_is_not(&self) -> Result<u64, StoreError> {
        let quarantine = self.quarantine.clone();
        let beyond_ascii = self
            .read(async move |conn: &mut Conn| {
                Ok(exists!(conn, people::table.filter(sql::<Bool>(BEYOND_ASCII))))
            })
            .await?;
        if !beyond_ascii {
            return Ok(0);
        }
        self.write(async move |conn: &mut Conn| {
            locked_revision(conn).await?;
            fold_keys(conn, &quarantine).await
        })
        .await
    }
}

/// Folds the keys that the migration took over from an earlier version, which compared addresses in lower case. It is the
/// same for addresses in ASCII. Returns how many people have another key now. People who have become one keep the password
/// of the one with the folded key, or else the other's.
async fn fold_keys(conn: &mut Conn, quarantine: &Quarantine) -> Result<u64, Failure> {
    let beyond_ascii = people::table
        .filter(sql::<Bool>(BEYOND_ASCII))
        .order(people::email_key);
    let mut folded = 0;
    for stored in load_records!(conn, quarantine, StoredPerson, beyond_ascii) {
        let (before, key) = (stored.person.key, EmailKey::of(&stored.person.email));
        if before == key {
            continue;
        }
        let password = stored.password_hash.map(Col);
        diesel::insert_into(people::table)
            .values((
                people::email_key.eq(Col(key.clone())),
                people::email.eq(Col(stored.person.email)),
                people::name.eq(Col(stored.person.name)),
                people::password_hash.eq(password.clone()),
            ))
            .on_conflict_do_nothing()
            .execute(conn)
            .await?;
        let without_password = people::table.find(Col(key.clone()));
        diesel::update(without_password.filter(people::password_hash.is_null()))
            .set(people::password_hash.eq(password))
            .execute(conn)
            .await?;
        let of_before = memberships::table.filter(memberships::email_key.eq(Col(before.clone())));
        let of_before: Vec<(String, String)> = of_before
            .select((memberships::organization_id, memberships::role))
            .load(conn)
            .await?;
        for (organization, role) in of_before {
            diesel::insert_into(memberships::table)
                .values((
                    memberships::organization_id.eq(organization),
                    memberships::email_key.eq(Col(key.clone())),
                    memberships::role.eq(role),
                ))
                .on_conflict_do_nothing()
                .execute(conn)
                .await?;
        }
        diesel::delete(memberships::table.filter(memberships::email_key.eq(Col(before.clone()))))
            .execute(conn)
            .await?;
        diesel::delete(people::table.find(Col(before)))
            .execute(conn)
            .await?;
        folded += 1;
    }
    Ok(folded)
}
