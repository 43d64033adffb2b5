//! `bidloop mcp`: the tool server on standard input and output, for an agent that starts the program itself.

use bidloop_domain::model::PersonalToken;
use bidloop_mcp::serve_stdio;

use super::{Failure, Outcome, database};
use crate::service::Service;
use crate::settings::Settings;
use crate::shutdown::StopSignals;
use crate::tools::tool_server;

/// The variable with the token.
const TOKEN: &str = "BIDLOOP_TOKEN";

pub(super) async fn run(settings: &Settings) -> Outcome {
    let mut stop = StopSignals::catch();
    let token = token()?;
    let database = database::open_current(settings).await?;
    let base_url = settings.server.base_url.clone();
    let base_url = base_url.unwrap_or_else(|| format!("http://{}", settings.server.listen));
    let service = Service::new(settings, &database, &base_url).await?;
    let tools = tool_server(&service, settings, &base_url);
    // It is checked at every call; who starts the program with a wrong one is told at once.
    if tools.authenticate.execute(token.expose()).await?.is_none() {
        return Err(Failure::failed(format!(
            "{TOKEN}: the token is unknown, revoked or expired, or its person may not use it any more: make another one in \
             the console, under Settings, Personal tokens, or with `bidloop tokens create`"
        )));
    }
    let streams = (tokio::io::stdin(), tokio::io::stdout());
    serve_stdio(tools, &token, streams, async move { stop.requested().await })
        .await
        .map_err(|fault| Failure::failed(fault.to_string()))
}

fn token() -> Result<PersonalToken, Failure> {
    let given = Settings::personal_token().ok_or_else(|| {
        Failure::usage(format!(
            "{TOKEN}: is not set: give it a personal token, which the console makes under Settings, Personal tokens, and \
             `bidloop tokens create` does"
        ))
    })?;
    PersonalToken::parse(given.expose().trim()).map_err(|fault| Failure::usage(format!("{TOKEN}: {fault}")))
}
