//! Seals the secrets that are plain, or sealed with another key than the first, some in each transaction.

use bidloop_domain::model::Secret;
use bidloop_domain::port::StoreError;

use super::prelude::*;
use crate::sealing::{Place, Sealer};

/// Rows of one transaction: other commands wait for it on SQLite.
const AT_ONCE: i64 = 100;

/// The key of a row that was looked at last.
type Last = Option<(String, String)>;

impl Store {
    /// Seals what the first key has not sealed, and returns how many secrets that were. A secret that cannot be opened is
    /// left as it is. Repeating it after an interruption goes on with the rest; several processes do no harm.
    pub(crate) async fn seal_what_is_not(&self) -> Result<u64, StoreError> {
        let Some(prefix) = self.sealer.current_prefix()? else {
            return Ok(0);
        };
        let mut total = 0;
        let mut last: Last = None;
        loop {
            let (sealer, prefix, after) = (self.sealer.clone(), prefix.clone(), last.clone());
            let step =
                async move |conn: &mut Conn| seal_accounts(conn, &sealer, &prefix, after.as_ref()).await;
            let (count, next) = self.write(step).await?;
            total += count;
            if next.is_none() {
                break;
            }
            last = next;
        }
        last = None;
        loop {
            let (sealer, prefix, after) = (self.sealer.clone(), prefix.clone(), last.clone());
            let step =
                async move |conn: &mut Conn| seal_endpoints(conn, &sealer, &prefix, after.as_ref()).await;
            let (count, next) = self.write(step).await?;
            total += count;
            if next.is_none() {
                break;
            }
            last = next;
        }
        Ok(total)
    }
}

/// The text to store in place of this one; `None` if it is to stay.
fn sealed_anew(
    sealer: &Sealer,
    prefix: &str,
    place: Place<'_>,
    stored: &Secret<String>,
) -> Option<Secret<String>> {
    if stored.expose().starts_with(prefix) {
        return None;
    }
    let opened = sealer.open(place, stored).ok()?;
    sealer.seal(place, opened.expose()).ok()
}

/// Rows after a key, in the order of their keys.
macro_rules! page_after {
    ($table:ident, $last:expr) => {{
        let mut page = $table::table
            .order(($table::organization_id, $table::id))
            .limit(AT_ONCE)
            .into_boxed();
        if let Some((organization, id)) = $last {
            let later_id = $table::organization_id.eq(organization).and($table::id.gt(id));
            page = page.filter($table::organization_id.gt(organization).or(later_id));
        }
        page
    }};
}

async fn seal_accounts(
    conn: &mut Conn,
    sealer: &Sealer,
    prefix: &str,
    last: Option<&(String, String)>,
) -> Result<(u64, Last), Failure> {
    let page = page_after!(bidder_accounts, last);
    let keys: Vec<(String, String)> = page
        .select((bidder_accounts::organization_id, bidder_accounts::id))
        .load(conn)
        .await?;
    let mut count = 0;
    for (organization, id) in &keys {
        let row = bidder_accounts::table.find((organization, id));
        let stored = for_update!(row.select(bidder_accounts::token));
        let stored: Option<Attempt<Col<Secret<String>>>> = stored.first(conn).await.optional()?;
        let Some(Attempt(Ok(Col(stored)))) = stored else {
            continue;
        };
        if let Some(text) = sealed_anew(sealer, prefix, Place::token(organization, id), &stored) {
            let anew = bidder_accounts::token.eq(Col(text));
            diesel::update(row).set(anew).execute(conn).await?;
            count += 1;
        }
    }
    Ok((count, next(keys)))
}

async fn seal_endpoints(
    conn: &mut Conn,
    sealer: &Sealer,
    prefix: &str,
    last: Option<&(String, String)>,
) -> Result<(u64, Last), Failure> {
    type Secrets = (Attempt<Col<Secret<String>>>, Attempt<Option<Col<Secret<String>>>>);
    let page = page_after!(webhook_endpoints, last);
    let keys: Vec<(String, String)> = page
        .select((webhook_endpoints::organization_id, webhook_endpoints::id))
        .load(conn)
        .await?;
    let mut count = 0;
    for (organization, id) in &keys {
        let row = webhook_endpoints::table.find((organization, id));
        let secrets = (webhook_endpoints::secret, webhook_endpoints::previous_secret);
        let stored: Option<Secrets> = for_update!(row.select(secrets)).first(conn).await.optional()?;
        let Some((Attempt(secret), Attempt(previous))) = stored else {
            continue;
        };
        let anew = |place, stored: Option<Col<Secret<String>>>| {
            stored.and_then(|Col(stored)| sealed_anew(sealer, prefix, place, &stored))
        };
        if let Some(text) = anew(Place::secret(organization, id), secret.ok()) {
            let column = webhook_endpoints::secret.eq(Col(text));
            diesel::update(row).set(column).execute(conn).await?;
            count += 1;
        }
        if let Some(text) = anew(Place::previous_secret(organization, id), previous.ok().flatten()) {
            let column = webhook_endpoints::previous_secret.eq(Col(text));
            diesel::update(row).set(column).execute(conn).await?;
            count += 1;
        }
    }
    Ok((count, next(keys)))
}

/// Where the next page begins; `None` after the last one.
fn next(keys: Vec<(String, String)>) -> Last {
    let is_last = stored(keys.len()) < AT_ONCE;
    keys.into_iter().next_back().filter(|_| !is_last)
}
