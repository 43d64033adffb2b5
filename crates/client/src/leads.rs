//! All leads of a campaign, page after page.

use std::collections::{HashSet, VecDeque};

use futures::stream::{self, BoxStream, StreamExt as _};

use crate::client::Client;
use crate::error::Error;
use crate::lead::{Lead, LeadPage};

const PAGE: u32 = 100;

impl Client {
    /// A campaign's leads, newest first, each once. The stream ends with the list, or after an error.
    ///
    /// The list may change while it is read. Each page begins with the last lead of the page before, which shows whether it
    /// did: leads that new ones pushed down are left out the second time, and if leads have left the list, the stream steps
    /// back. So each lead that is on the list all the while comes once; new ones may be missing.
    ///
    /// ```no_run
    /// use futures::TryStreamExt as _;
    ///
    /// # async fn run(client: bidloop_client::Client) -> Result<(), bidloop_client::Error> {
    /// let mut leads = client.leads("camp_rust");
    /// while let Some(lead) = leads.try_next().await? {
    ///     println!("{} {}", lead.id, lead.title);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn leads(&self, campaign_id: &str) -> BoxStream<'static, Result<Lead, Error>> {
        let client = self.clone();
        let campaign_id = campaign_id.to_owned();
        stream::try_unfold(Position::default(), move |mut position| {
            let (client, campaign_id) = (client.clone(), campaign_id.clone());
            async move {
                loop {
                    if let Some(lead) = position.waiting.pop_front() {
                        return Ok(Some((lead, position)));
                    }
                    if position.at_end {
                        return Ok(None);
                    }
                    let page = client.leads_page(&campaign_id, position.offset, PAGE).await?;
                    position.take(page);
                }
            }
        })
        .boxed()
    }
}

/// How far a list was read.
#[derive(Default)]
struct Position {
    offset: u64,
    /// Whether the page at `offset` begins with the last lead of the page before.
    overlaps: bool,
    waiting: VecDeque<Lead>,
    seen: HashSet<String>,
    at_end: bool,
}

impl Position {
    fn take(&mut self, page: LeadPage) {
        let first = page.data.first();
        let continues = first.is_some_and(|first| self.seen.contains(&first.id));
        if self.offset > 0 && self.overlaps && !continues {
            // Leads have left the list, so that others moved up past this page.
            self.offset = self.offset.saturating_sub(u64::from(PAGE) - 1);
            return;
        }
        let read = page.data.len() as u64;
        self.at_end = !page.has_more || read == 0;
        self.overlaps = read > 1;
        self.offset += read - u64::from(self.overlaps);
        let new = page
            .data
            .into_iter()
            .filter(|lead| self.seen.insert(lead.id.clone()));
        self.waiting.extend(new);
    }
}
