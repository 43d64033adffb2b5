//! What changes of people are decided on, read as of one moment.

use bidloop_domain::model::{EmailKey, OneTimeLink, OrganizationId, Person};
use bidloop_domain::port::{
    OrganizationMember, OrganizationPeople, PersonEverywhere, Revision, StoredPerson,
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
    let name = organizations::table
        .find(organization.as_str())
        .select(organizations::name);
    let name: Option<Col<String>> = name.first(conn).await.optional()?;
    let Some(Col(name)) = name else {
        return Ok(None);
    };
    let links = one_time_links::table
        .filter(one_time_links::organization_id.eq(organization.as_str()))
        .order(one_time_links::id);
    let links = load_records!(conn, quarantine, StoredLink, links);
    let mut everywhere = Vec::with_capacity(asked.len());
    for key in asked {
        everywhere.extend(person_everywhere(conn, key).await?);
    }
    Ok(Some(OrganizationPeople {
        revision,
        organization_id: organization.clone(),
        name,
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
async fn person_everywhere(conn: &mut Conn, key: &EmailKey) -> Result<Option<PersonEverywhere>, Failure> {
    let person = people::table
        .find(Col(key.clone()))
        .select(Row::<StoredPerson>::as_select());
    let person: Option<Row<StoredPerson>> = person.first(conn).await.optional()?;
    let Some(Row(stored)) = person else {
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
    Ok(Some(PersonEverywhere {
        stored,
        memberships: memberships.collect(),
    }))
}
