//! The paths of the console (contract section 6).

use actix_web::middleware::{Compress, from_fn};
use actix_web::{FromRequest, Handler, Responder, Route, web};

use crate::page::PageError;
use crate::pages::campaign::{bid, bidding, bidding_files, feed, filters, lead, lead_actions, lead_config};
use crate::pages::settings::{accounts, api_keys, billing, display, password, tokens, users};
use crate::pages::webhooks::{forms as webhook_forms, list as webhooks, test as webhook_test};
use crate::pages::{activity, campaigns, events, first_run, invite, overview, sign_in};
use crate::upload::Uploads;
use crate::{Console, assets, guard};

/// Returns what adds the console to an application: its routes and the data that they need.
pub fn application(console: Console) -> impl Fn(&mut web::ServiceConfig) + Clone + Send {
    let console = web::Data::new(console);
    let uploads = web::Data::new(Uploads::default());
    move |config| {
        config.app_data(console.clone()).app_data(uploads.clone());
        for (path, routes) in pages() {
            // No link of the console has such a query.
            let query = web::QueryConfig::default().error_handler(|_, _| PageError::NotFound.into());
            let mut resource = web::resource(path).app_data(query);
            for route in routes {
                resource = resource.route(route);
            }
            config.service(resource.wrap(from_fn(guard::guard)));
        }
        // The stream has no end, so HEAD could not tell its length; compressing would hold events back.
        let events = web::resource("/events").get(events::show);
        config.service(events.wrap(from_fn(guard::guard)));
    }
}

/// Reads, for GET and HEAD. The answer is compressed: of its secrets it has only the token of changes, which is masked.
fn get() -> Reads {
    Reads { compresses: true }
}

/// The same for an answer that is not to be compressed. It holds a secret, or is compressed already.
fn get_as_it_is() -> Reads {
    Reads { compresses: false }
}

struct Reads {
    compresses: bool,
}

impl Reads {
    fn to<F, A>(self, handler: F) -> Route
    where
        F: Handler<A>,
        A: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        let reads = actix_web::guard::Any(actix_web::guard::Get()).or(actix_web::guard::Head());
        let route = web::route().guard(reads).to(handler);
        if self.compresses {
            route.wrap(Compress::default())
        } else {
            route
        }
    }
}

/// Each path with its methods. The answer to a change is not compressed: it may show a new key or secret, once.
fn pages() -> Vec<(&'static str, Vec<Route>)> {
    use web::post;
    vec![
        ("/assets/{file}", vec![get_as_it_is().to(assets::serve)]),
        (
            "/sign-in",
            vec![get_as_it_is().to(sign_in::show), post().to(sign_in::sign_in)],
        ),
        (
            "/sign-out",
            vec![get().to(sign_in::ask_sign_out), post().to(sign_in::sign_out)],
        ),
        ("/switch", vec![post().to(sign_in::switch)]),
        (
            "/first-run",
            vec![get_as_it_is().to(first_run::show), post().to(first_run::set_up)],
        ),
        (
            "/invite/{token}",
            vec![get_as_it_is().to(invite::show), post().to(invite::use_link)],
        ),
        ("/", vec![get().to(overview::show)]),
        ("/activity", vec![get().to(activity::show)]),
        ("/activity/new", vec![get().to(activity::newer)]),
        ("/activity.csv", vec![get().to(activity::csv)]),
        ("/campaigns", vec![get().to(campaigns::list)]),
        (
            "/campaigns/new",
            vec![get().to(campaigns::ask_new), post().to(campaigns::create)],
        ),
        (
            "/campaigns/{campaign}/edit",
            vec![get().to(campaigns::ask_edit), post().to(campaigns::edit)],
        ),
        ("/campaigns/{campaign}/start", vec![post().to(campaigns::start)]),
        ("/campaigns/{campaign}/pause", vec![post().to(campaigns::pause)]),
        (
            "/campaigns/{campaign}/delete",
            vec![get().to(campaigns::ask_delete), post().to(campaigns::delete)],
        ),
        (
            "/settings/integrations/api-keys",
            vec![get().to(api_keys::list), post().to(api_keys::create)],
        ),
        (
            "/settings/integrations/api-keys/new",
            vec![get().to(api_keys::ask_new)],
        ),
        (
            "/settings/integrations/api-keys/{key}/revoke",
            vec![get().to(api_keys::ask_revoke), post().to(api_keys::revoke)],
        ),
        (
            "/settings/tokens",
            vec![get().to(tokens::list), post().to(tokens::make)],
        ),
        ("/settings/tokens/new", vec![get().to(tokens::ask_new)]),
        (
            "/settings/tokens/{token}/revoke",
            vec![get().to(tokens::ask_revoke), post().to(tokens::revoke)],
        ),
        ("/settings/users", vec![get().to(users::list)]),
        (
            "/settings/users/invite",
            vec![get().to(users::ask_invite), post().to(users::invite)],
        ),
        ("/settings/users/role", vec![post().to(users::set_role)]),
        (
            "/settings/users/remove",
            vec![get().to(users::ask_remove), post().to(users::remove)],
        ),
        (
            "/settings/users/leave",
            vec![get().to(users::ask_leave), post().to(users::leave)],
        ),
        (
            "/settings/users/reset",
            vec![get().to(users::ask_reset), post().to(users::reset)],
        ),
        ("/settings/users/withdraw", vec![post().to(users::withdraw)]),
        ("/settings/users/password", vec![post().to(password::change)]),
        (
            "/campaigns/{campaign}/activity",
            vec![get().to(activity::show_of_campaign)],
        ),
        (
            "/campaigns/{campaign}/activity/new",
            vec![get().to(activity::newer_of_campaign)],
        ),
        (
            "/settings/accounts",
            vec![get().to(accounts::list), post().to(accounts::connect)],
        ),
        ("/settings/accounts/new", vec![get().to(accounts::ask_new)]),
        (
            "/settings/accounts/{account}/edit",
            vec![get().to(accounts::ask_edit), post().to(accounts::edit)],
        ),
        (
            "/settings/accounts/{account}/remove",
            vec![get().to(accounts::ask_remove), post().to(accounts::remove)],
        ),
        ("/settings/billing", vec![get().to(billing::show)]),
        (
            "/settings/display",
            vec![get().to(display::show), post().to(display::set)],
        ),
        ("/settings/display/keys", vec![get().to(display::show_keys)]),
        ("/campaigns/{campaign}/bidding", vec![get().to(bidding::show)]),
        (
            "/campaigns/{campaign}/bidding/account",
            vec![post().to(bidding::set_account)],
        ),
        (
            "/campaigns/{campaign}/bidding/template",
            vec![post().to(bidding::set_template)],
        ),
        (
            "/campaigns/{campaign}/bidding/files",
            vec![post().to(bidding_files::add)],
        ),
        (
            "/campaigns/{campaign}/bidding/files/remove",
            vec![post().to(bidding_files::remove)],
        ),
        (
            "/campaigns/{campaign}/bidding/{setting}",
            vec![get().to(bidding::ask_change), post().to(bidding::set)],
        ),
        ("/campaigns/{campaign}/feed", vec![get().to(feed::show)]),
        ("/campaigns/{campaign}/feed/live", vec![get().to(feed::live)]),
        ("/campaigns/{campaign}/feed/seen", vec![post().to(feed::seen)]),
        (
            "/campaigns/{campaign}/filters",
            vec![get().to(filters::first), post().to(filters::create)],
        ),
        (
            "/campaigns/{campaign}/filters/{filter}",
            vec![get().to(filters::show_one), post().to(filters::edit)],
        ),
        (
            "/campaigns/{campaign}/filters/{filter}/delete",
            vec![get().to(filters::ask_delete), post().to(filters::delete)],
        ),
        ("/campaigns/{campaign}/leads/{lead}", vec![get().to(lead::show)]),
        (
            "/campaigns/{campaign}/leads/{lead}/bid",
            vec![get().to(bid::ask), post().to(bid::act)],
        ),
        (
            "/campaigns/{campaign}/leads/{lead}/configure",
            vec![get().to(lead_config::ask), post().to(lead_config::set)],
        ),
        (
            "/campaigns/{campaign}/leads/{lead}/reject",
            vec![
                get().to(lead_actions::ask_reject),
                post().to(lead_actions::reject),
            ],
        ),
        (
            "/campaigns/{campaign}/leads/{lead}/trigger",
            vec![post().to(lead_actions::trigger)],
        ),
        (
            "/campaigns/{campaign}/leads/{lead}/reopen",
            vec![post().to(lead_actions::reopen)],
        ),
        (
            "/campaigns/{campaign}/leads/{lead}/settle",
            vec![
                get().to(lead_actions::ask_settle),
                post().to(lead_actions::settle),
            ],
        ),
    ]
    .into_iter()
    .chain(webhook_pages())
    .collect()
}

/// The pages of endpoints, under a campaign and under the settings.
fn webhook_pages() -> Vec<(&'static str, Vec<Route>)> {
    use web::post;
    let list = || vec![get().to(webhooks::show), post().to(webhook_forms::create)];
    let new = || vec![get().to(webhook_forms::ask_new)];
    let edit = || vec![get().to(webhook_forms::ask_edit), post().to(webhook_forms::edit)];
    let rotate = || {
        vec![
            get().to(webhook_forms::ask_rotate),
            post().to(webhook_forms::rotate),
        ]
    };
    let remove = || {
        vec![
            get().to(webhook_forms::ask_remove),
            post().to(webhook_forms::remove),
        ]
    };
    let pause = || vec![post().to(webhook_forms::pause)];
    let resume = || vec![post().to(webhook_forms::resume)];
    let test = || vec![post().to(webhook_test::test)];
    vec![
        ("/campaigns/{campaign}/integrations", list()),
        ("/campaigns/{campaign}/integrations/new", new()),
        ("/campaigns/{campaign}/integrations/{endpoint}/edit", edit()),
        ("/campaigns/{campaign}/integrations/{endpoint}/rotate", rotate()),
        ("/campaigns/{campaign}/integrations/{endpoint}/remove", remove()),
        ("/campaigns/{campaign}/integrations/{endpoint}/pause", pause()),
        ("/campaigns/{campaign}/integrations/{endpoint}/resume", resume()),
        ("/campaigns/{campaign}/integrations/{endpoint}/test", test()),
        ("/settings/integrations/webhooks", list()),
        ("/settings/integrations/webhooks/new", new()),
        ("/settings/integrations/webhooks/{endpoint}/edit", edit()),
        ("/settings/integrations/webhooks/{endpoint}/rotate", rotate()),
        ("/settings/integrations/webhooks/{endpoint}/remove", remove()),
        ("/settings/integrations/webhooks/{endpoint}/pause", pause()),
        ("/settings/integrations/webhooks/{endpoint}/resume", resume()),
        ("/settings/integrations/webhooks/{endpoint}/test", test()),
    ]
}
