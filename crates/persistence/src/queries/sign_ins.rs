//! Tries to sign in, and the first start.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use bidloop_domain::model::{FirstRunCodeHash, MemberRole, TRIES_COUNTED, Timestamp, Tries, TrySubject};
use bidloop_domain::port::{
    CreateFirst, FIRST_RUN_CODES, FirstOrganization, FirstRunCodeState, FirstRunStore, SignInTryStore,
    StoreError, UserRecord,
};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool};

use super::activities::insert_activity;
use super::filter_changes::{LogState, move_revision};
use super::locks::ONLY_ROW;
use super::people::put_user;
use super::prelude::*;
use super::provisioning::put_organization;
use super::sessions::open;

/// How many forgotten tries are removed when a new subject is stored: more than come, so that few are left.
const FORGOTTEN_AT_ONCE: i64 = 16;

#[async_trait]
impl SignInTryStore for Store {
    async fn count_try(
        &self,
        subjects: &[TrySubject],
        now: Timestamp,
    ) -> Result<Result<Tries, Timestamp>, StoreError> {
        let subjects: BTreeSet<TrySubject> = subjects.iter().cloned().collect();
        let (counted, has_grown) = self
            .write(async move |conn: &mut Conn| count_try(conn, &subjects, now).await)
            .await?;
        if has_grown {
            self.write(async move |conn: &mut Conn| {
                forget_tries(conn, now, FORGOTTEN_AT_ONCE).await?;
                Ok(())
            })
            .await?;
        }
        Ok(counted)
    }

    async fn end_try(
        &self,
        cleared: &[TrySubject],
        given_back: &[TrySubject],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let cleared: Vec<String> = cleared
            .iter()
            .map(|subject| subject.as_str().to_owned())
            .collect();
        let given_back: BTreeSet<TrySubject> = given_back.iter().cloned().collect();
        self.write(async move |conn: &mut Conn| {
            let known = locked_tries(conn, &given_back).await?;
            for (subject, tries) in known {
                put_tries(conn, &subject, tries.given_back(now)).await?;
            }
            let over = sign_in_tries::failures
                .eq(0)
                .or(one_of!(sign_in_tries::subject, &cleared));
            let mut subjects: Vec<&str> = given_back.iter().map(TrySubject::as_str).collect();
            subjects.extend(cleared.iter().map(String::as_str));
            diesel::delete(
                sign_in_tries::table
                    .filter(one_of!(sign_in_tries::subject, subjects))
                    .filter(over),
            )
            .execute(conn)
            .await?;
            Ok(())
        })
        .await
    }
}

/// Counts a try for each subject, or says how long to wait. Says whether there is a new row, too.
async fn count_try(
    conn: &mut Conn,
    subjects: &BTreeSet<TrySubject>,
    now: Timestamp,
) -> Result<(Result<Tries, Timestamp>, bool), Failure> {
    let known = locked_tries(conn, subjects).await?;
    let before = |subject: &TrySubject| known.get(subject.as_str()).copied().unwrap_or(Tries::none(now));
    let counted: Vec<_> = subjects
        .iter()
        .map(|subject| before(subject).counted(now))
        .collect();
    if let Some(until) = counted.iter().filter_map(|counted| counted.err()).max() {
        return Ok((Err(until), false));
    }
    let (mut least, mut has_grown) = (Tries::none(now), false);
    for (subject, tries) in subjects.iter().zip(counted.into_iter().flatten()) {
        if known.contains_key(subject.as_str()) {
            put_tries(conn, subject.as_str(), tries).await?;
        } else if insert_tries(conn, subject.as_str(), tries).await? {
            has_grown = true;
        } else {
            // Another try was counted in between.
            return Err(Failure::Conflict("another try was counted at once".to_owned()));
        }
        if tries.failures > least.failures {
            least = tries;
        }
    }
    Ok((Ok(least), has_grown))
}

/// The tries of those subjects that have some. Nobody else can count theirs until the transaction ends.
async fn locked_tries(
    conn: &mut Conn,
    subjects: &BTreeSet<TrySubject>,
) -> Result<HashMap<String, Tries>, Failure> {
    let subjects: Vec<&str> = subjects.iter().map(TrySubject::as_str).collect();
    let rows = sign_in_tries::table
        .filter(one_of!(sign_in_tries::subject, subjects))
        .order(sign_in_tries::subject)
        .select((
            sign_in_tries::subject,
            sign_in_tries::failures,
            sign_in_tries::since,
            sign_in_tries::waits_until,
        ));
    let rows: Vec<(String, i64, i64, Option<i64>)> = for_update!(rows).load(conn).await?;
    let tries = rows.into_iter().map(|(subject, failures, since, waits_until)| {
        let tries = Tries {
            failures: u32::try_from(failures).unwrap_or(u32::MAX),
            since: Timestamp::from_millis(since),
            waits_until: waits_until.map(Timestamp::from_millis),
        };
        (subject, tries)
    });
    Ok(tries.collect())
}

/// A row's fields.
macro_rules! fields {
    ($tries:expr) => {{
        let tries: Tries = $tries;
        let forgotten_at = tries.waits_until.unwrap_or(tries.since).plus(TRIES_COUNTED);
        (
            sign_in_tries::failures.eq(i64::from(tries.failures)),
            sign_in_tries::since.eq(tries.since.as_millis()),
            sign_in_tries::waits_until.eq(tries.waits_until.map(Timestamp::as_millis)),
            sign_in_tries::forgotten_at.eq(forgotten_at.as_millis()),
        )
    }};
}

async fn put_tries(conn: &mut Conn, subject: &str, tries: Tries) -> Result<(), Failure> {
    diesel::update(sign_in_tries::table.find(subject))
        .set(fields!(tries))
        .execute(conn)
        .await?;
    Ok(())
}

/// Returns false, and changes nothing, if the subject has tries.
async fn insert_tries(conn: &mut Conn, subject: &str, tries: Tries) -> Result<bool, Failure> {
    let inserted = diesel::insert_into(sign_in_tries::table)
        .values((sign_in_tries::subject.eq(subject), fields!(tries)))
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    Ok(inserted == 1)
}

/// Removes tries that are forgotten, up to `limit`. Returns how many.
pub(super) async fn forget_tries(conn: &mut Conn, before: Timestamp, limit: i64) -> Result<usize, Failure> {
    let some = sql::<Bool>("subject IN (SELECT subject FROM sign_in_tries WHERE forgotten_at <= ")
        .bind::<BigInt, _>(before.as_millis())
        .sql(" ORDER BY forgotten_at LIMIT ")
        .bind::<BigInt, _>(limit)
        .sql(")");
    // Asked of the row itself, too: another try may have been counted in between.
    let forgotten = sign_in_tries::forgotten_at.le(before.as_millis());
    let removed = diesel::delete(sign_in_tries::table.filter(some).filter(forgotten))
        .execute(conn)
        .await?;
    Ok(removed)
}

#[async_trait]
impl FirstRunStore for Store {
    async fn has_no_people(&self) -> Result<bool, StoreError> {
        self.read(async move |conn: &mut Conn| has_no_people(conn).await)
            .await
    }

    async fn put_first_run_code(&self, code: &FirstRunCodeHash, at: Timestamp) -> Result<bool, StoreError> {
        let code = code.clone();
        self.write(async move |conn: &mut Conn| {
            // One code at a time, and none while somebody is being made.
            locked_revision(conn).await?;
            if !has_no_people(conn).await? {
                return Ok(false);
            }
            diesel::update(first_run_codes::table.filter(first_run_codes::replaced_at.is_null()))
                .set(first_run_codes::replaced_at.eq(at.as_millis()))
                .execute(conn)
                .await?;
            let row = (
                first_run_codes::code_hash.eq(code.as_str()),
                first_run_codes::created_at.eq(at.as_millis()),
                first_run_codes::replaced_at.eq(None::<i64>),
            );
            put!(conn, first_run_codes, row, row);
            let newest: Vec<String> = first_run_codes::table
                .filter(first_run_codes::replaced_at.is_not_null())
                .order((first_run_codes::replaced_at.desc(), first_run_codes::code_hash))
                .limit(i64::from(FIRST_RUN_CODES) - 1)
                .select(first_run_codes::code_hash)
                .load(conn)
                .await?;
            let kept = one_of!(first_run_codes::code_hash, newest).or(first_run_codes::replaced_at.is_null());
            diesel::delete(first_run_codes::table.filter(diesel::dsl::not(kept)))
                .execute(conn)
                .await?;
            Ok(true)
        })
        .await
    }

    async fn first_run_code(&self, code: &FirstRunCodeHash) -> Result<FirstRunCodeState, StoreError> {
        let code = code.clone();
        self.read(async move |conn: &mut Conn| code_state(conn, &code).await)
            .await
    }

    async fn create_first(&self, first: &FirstOrganization) -> Result<CreateFirst, StoreError> {
        let (first, quarantine) = (first.clone(), self.quarantine.clone());
        self.write(async move |conn: &mut Conn| create_first(conn, &quarantine, &first).await)
            .await
    }
}

async fn has_no_people(conn: &mut Conn) -> Result<bool, Failure> {
    Ok(!exists!(conn, people::table.select(people::email_key)))
}

/// The revision, which no other transaction can raise until this one ends.
pub(super) async fn locked_revision(conn: &mut Conn) -> Result<LogState, Failure> {
    let counter = revision_counter::table
        .find(ONLY_ROW)
        .select(LogState::as_select());
    Ok(for_update!(counter).first(conn).await?)
}

async fn code_state(conn: &mut Conn, code: &FirstRunCodeHash) -> Result<FirstRunCodeState, Failure> {
    if !has_no_people(conn).await? {
        return Ok(FirstRunCodeState::Over);
    }
    let known: Option<Option<i64>> = first_run_codes::table
        .find(code.as_str())
        .select(first_run_codes::replaced_at)
        .first(conn)
        .await
        .optional()?;
    Ok(match known {
        Some(None) => FirstRunCodeState::Current,
        Some(Some(at)) => FirstRunCodeState::Replaced(Timestamp::from_millis(at)),
        None => FirstRunCodeState::Unknown,
    })
}

async fn create_first(
    conn: &mut Conn,
    quarantine: &Quarantine,
    first: &FirstOrganization,
) -> Result<CreateFirst, Failure> {
    let before = locked_revision(conn).await?;
    match code_state(conn, &first.code).await? {
        FirstRunCodeState::Current => {}
        refused => return Ok(CreateFirst::Refused(refused)),
    }
    let id = first.id.as_str();
    if exists!(conn, organizations::table.find(id)) || exists!(conn, removed_organizations::table.find(id)) {
        return Ok(CreateFirst::IdTaken);
    }
    put_organization(conn, &first.id, &first.name, &first.subscription).await?;
    let owner = UserRecord {
        email: first.owner.email.clone(),
        name: first.owner.name.clone(),
        password_hash: Some(first.password_hash.clone()),
        role: MemberRole::Owner,
    };
    put_user(conn, &first.id, &owner).await?;
    if !open(conn, quarantine, &first.session).await? {
        return Err(Failure::fault("the first owner has no organization"));
    }
    insert_activity(conn, &first.activity).await?;
    diesel::delete(first_run_codes::table).execute(conn).await?;
    move_revision(conn, before, before.value + 1, &BTreeSet::new()).await?;
    Ok(CreateFirst::Created)
}
