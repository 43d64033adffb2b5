//! `bidloop leads list`: a campaign's matches, as the console's Feed shows them. No match becomes a lead by it.

use bidloop_domain::use_case::{FeedCard, FeedPart, FeedRequest, ShowFeed, ShownFeed};
use serde_json::{Value, json};

use super::moment::moment;
use super::{Failure, Outcome, output};
use crate::cli::ListLeadsArgs;

pub(super) async fn run(feed: &ShowFeed, args: &ListLeadsArgs) -> Outcome {
    let mut request = FeedRequest {
        status: args.status,
        offset: args.offset,
        ..FeedRequest::default()
    };
    let mut cards = Vec::new();
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let mut unreadable = 0;
    let total = loop {
        let page = page(feed, args, &request).await?;
        let FeedPart::Page { total, .. } = page.part else {
            return Err(Failure::failed("a page of the list was not read as one"));
        };
        let read = page.cards.len() + page.unreadable;
        unreadable += page.unreadable;
        cards.extend(page.cards);
        if cards.len() >= limit || read == 0 {
            cards.truncate(limit);
            break total;
        }
        request.offset += read as u64;
    };
    if args.json {
        let leads: Vec<Value> = cards.iter().map(document).collect();
        return output::json(&json!({
            "total": total,
            "offset": args.offset,
            "unreadable": unreadable,
            "leads": leads,
        }));
    }
    cards.iter().try_for_each(print)?;
    if unreadable > 0 {
        output::errors(&[format!("{unreadable} leads cannot be read: see `bidloop doctor`")]);
    }
    Ok(())
}

async fn page(feed: &ShowFeed, args: &ListLeadsArgs, request: &FeedRequest) -> Result<ShownFeed, Failure> {
    let page = feed.execute(&args.organization, &args.campaign, request).await?;
    page.ok_or_else(|| {
        Failure::failed(format!(
            "the organization \"{}\" has no campaign \"{}\": `bidloop campaigns list` shows those there are",
            args.organization, args.campaign
        ))
    })
}

fn document(card: &FeedCard) -> Value {
    json!({
        "id": card.lead.id,
        "campaignId": card.lead.campaign_id,
        "jobId": card.lead.job_id,
        "status": card.lead.status,
        "title": card.post.title,
        "jobUrl": card.job_url,
        "postedAt": card.post.posted_at,
        "createdAt": card.lead.created_at,
        "isStored": card.is_stored,
        "bid": card.bid.as_ref().map(|bid| json!({
            "id": bid.id,
            "queuedAt": bid.queued_at,
            "submittedAt": bid.submitted_at,
            "connectsSpent": bid.connects_spent.get(),
        })),
    })
}

fn print(card: &FeedCard) -> Outcome {
    output::quoting_line(&format!(
        "{}  {}  {}  {}",
        card.lead.id,
        card.lead.status,
        moment(card.lead.created_at),
        card.post.title,
    ))
}
