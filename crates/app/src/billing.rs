//! Wires billing: the webhook of the payment provider, on the stores and ports of the service.

use std::sync::Arc;

use bidloop_billing::StripeWebhook;
use bidloop_domain::use_case::FollowBilling;
use bidloop_http_server::UseCaseRuntime;

use crate::service::Service;
use crate::settings::Settings;
use crate::system::{SystemClock, SystemEntropy};

/// Stripe's webhook; `None` without a secret that verifies what Stripe sends.
pub(crate) fn stripe_webhook(service: &Service, settings: &Settings) -> Option<StripeWebhook> {
    let secret = settings.stripe_webhook_secret.clone()?;
    Some(StripeWebhook {
        secret,
        follow: Arc::new(FollowBilling {
            store: Arc::clone(&service.stores.billing),
            clock: Arc::clone(&service.clock),
            entropy: Arc::new(SystemEntropy),
            pause: Arc::new(SystemClock),
        }),
        clock: Arc::clone(&service.clock),
        runtime: UseCaseRuntime::current(),
    })
}
