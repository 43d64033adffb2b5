//! Warns of webhook targets that decision C6 refuses, before an event fails because of them.

use bidloop_domain::port::{ProvisioningStore, StoreError, WebhookSender};

/// Endpoints that are read at a time.
const AT_ONCE: u32 = 500;
/// How many refused endpoints are named.
const NAMED: usize = 20;

/// A line for each active endpoint whose URL the sender refuses, without looking up names. URLs are not repeated: their
/// paths and queries often carry secrets.
pub(super) async fn warnings(
    store: &dyn ProvisioningStore,
    sender: &dyn WebhookSender,
) -> Result<Vec<String>, StoreError> {
    let (mut lines, mut more) = (Vec::new(), 0_u64);
    let mut after = None;
    loop {
        let urls = store.webhook_urls(after.as_ref(), AT_ONCE).await?;
        for endpoint in &urls {
            let Err(refused) = sender.check_target(&endpoint.url) else {
                continue;
            };
            if lines.len() < NAMED {
                lines.push(format!(
                    "webhooks to the endpoint {} of {} will fail: {}",
                    endpoint.id, endpoint.organization_id, refused.message
                ));
            } else {
                more += 1;
            }
        }
        let Some(last) = urls.last() else { break };
        after = Some((last.organization_id.clone(), last.id.clone()));
    }
    if more > 0 {
        lines.push(format!("webhooks to {more} more endpoints will fail"));
    }
    Ok(lines)
}
