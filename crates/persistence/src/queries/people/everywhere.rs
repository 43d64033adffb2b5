//! What changes of people are decided on, read as of one moment.

use bidloop_domain::model::{
    EmailKey, Member, Membership, OneTimeLink, OrganizationId, Person, PersonalTokenHash,
    PersonalTokenRecord, Subscription,
};
use bidloop_domain::port::{
    FoundPersonalToken, OrganizationMember, OrganizationPeople, PersonEverywhere, Revision, StoredPerson,
};

use super::super::locks::revision;
use super::super::prelude::*;
use crate::records::{StoredLink, StoredMembership};

pub(super) async fn organization_people(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
    asked: &[EmailKey],
) -> Result<Option<OrganizationPeople>, Failure> {
    let revision = Revision(revision(conn).await?);
    let known = organizations::table
        .find(organization.as_str())
        .select((organizations::name, Row::<Subscription>::as_select()));
    let known: Option<(Col<String>, Row<Subscription>)> = known.first(conn).await.optional()?;
    let Some((Col(name), Row(subscription))) = known else {
        return Ok(None);
    };
    let links = one_time_links::table
        .filter(one_time_links::organization_id.eq(organization.as_str()))
        .order(one_time_links::id);
    let links = load_records!(conn, quarantine, StoredLink, links);
    let mut everywhere = Vec::with_capacity(asked.len());
    for key in asked {
        everywhere.extend(person_everywhere(conn, quarantine, organization, key).await?);
    }
    Ok(Some(OrganizationPeople {
        revision,
        organization_id: organization.clone(),
        name,
        subscription,
        members: members(conn, quarantine, organization).await?,
        links: links.into_iter().map(OneTimeLink::from).collect(),
        asked: everywhere,
    }))
}

async fn members(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
) -> Result<Vec<OrganizationMember>, Failure> {
    type Found = (Tried<Person>, Tried<StoredMembership>, bool);
    let rows: Vec<Found> = memberships::table
        .inner_join(people::table.on(people::email_key.eq(memberships::email_key)))
        .filter(memberships::organization_id.eq(organization.as_str()))
        .order(memberships::email_key)
        .select((
            Tried::<Person>::as_select(),
            Tried::<StoredMembership>::as_select(),
            people::password_hash.is_not_null(),
        ))
        .load(conn)
        .await?;
    let mut members = Vec::with_capacity(rows.len());
    for (person, membership, has_password) in rows {
        if let (Some(person), Some(membership)) =
            (person.or_aside(quarantine), membership.or_aside(quarantine))
        {
            members.push(OrganizationMember {
                person,
                role: membership.role,
                has_password,
                last_seen_at: membership.last_seen_at,
            });
        }
    }
    Ok(members)
}

/// The person with all memberships. It fails if one of them cannot be read: what is decided on it must know all.
async fn person_everywhere(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
    key: &EmailKey,
) -> Result<Option<PersonEverywhere>, Failure> {
    let person = people::table
        .find(Col(key.clone()))
        .select((Row::<StoredPerson>::as_select(),));
    let person: Option<(Row<StoredPerson>,)> = person.first(conn).await.optional()?;
    let Some((Row(stored),)) = person else {
        return Ok(None);
    };
    let of_person: Vec<(Col<OrganizationId>, Row<StoredMembership>)> = memberships::table
        .filter(memberships::email_key.eq(Col(key.clone())))
        .order(memberships::organization_id)
        .select((memberships::organization_id, Row::<StoredMembership>::as_select()))
        .load(conn)
        .await?;
    let memberships = of_person
        .into_iter()
        .map(|(id, membership)| (id.0, membership.0.role));
    let memberships = memberships.collect();
    let tokens = personal_tokens::table
        .filter(personal_tokens::organization_id.eq(organization.as_str()))
        .filter(personal_tokens::email_key.eq(Col(key.clone())))
        .order((personal_tokens::created_at, personal_tokens::id));
    Ok(Some(PersonEverywhere {
        stored,
        memberships,
        tokens: load_records!(conn, quarantine, PersonalTokenRecord, tokens),
    }))
}

/// A token with its person as a member of its organization.
pub(super) async fn token(
    conn: &mut Conn,
    hash: &PersonalTokenHash,
) -> Result<Option<FoundPersonalToken>, Failure> {
    type Found = (
        Row<PersonalTokenRecord>,
        Row<Person>,
        Row<StoredMembership>,
        Col<String>,
        Row<Subscription>,
    );
    let of_member = memberships::organization_id
        .eq(personal_tokens::organization_id)
        .and(memberships::email_key.eq(personal_tokens::email_key));
    let found: Option<Found> = personal_tokens::table
        .inner_join(organizations::table.on(organizations::id.eq(personal_tokens::organization_id)))
        .inner_join(people::table.on(people::email_key.eq(personal_tokens::email_key)))
        .inner_join(memberships::table.on(of_member))
        .filter(personal_tokens::token_hash.eq(hash.as_str()))
        .select((
            Row::<PersonalTokenRecord>::as_select(),
            Row::<Person>::as_select(),
            Row::<StoredMembership>::as_select(),
            organizations::name,
            Row::<Subscription>::as_select(),
        ))
        .first(conn)
        .await
        .optional()?;
    Ok(found.map(
        |(Row(record), Row(person), Row(membership), Col(name), Row(subscription))| {
            let organization = Membership {
                organization_id: record.organization_id.clone(),
                organization_name: name,
                role: membership.role,
            };
            FoundPersonalToken {
                record,
                member: Member {
                    person,
                    organization,
                    subscription,
                },
            }
        },
    ))
}
