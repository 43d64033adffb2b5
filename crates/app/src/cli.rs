//! The command line. Its names and exit statuses are a contract with other programs.

#![expect(
    clippy::doc_markdown,
    reason = "these comments are the help texts that people read"
)]

mod color;
mod installing;
mod organizations;

use std::net::SocketAddr;
use std::path::PathBuf;

use bidloop_domain::model::{
    ApiKeyId, BidId, CampaignId, LeadId, OrganizationId, PersonalTokenId, Timestamp, TokenScope,
};
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

pub(crate) use installing::{CompletionsArgs, InitArgs, ManArgs};
pub(crate) use organizations::{CampaignsCommand, ListLeadsArgs, OrganizationsCommand, WebhooksCommand};

use crate::version;
use crate::workers::Role;

/// Bids on marketplace jobs: watches, matches, asks your program, submits exactly once.
#[derive(Debug, Parser)]
#[command(
    name = "bidloop",
    version = version::SHORT,
    long_version = version::LONG,
    propagate_version = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Settings file (TOML), else $BIDLOOP_CONFIG, ./bidloop.toml or /etc/bidloop/bidloop.toml; variables
    /// BIDLOOP_SECTION__KEY override it.
    #[arg(long, global = true, value_name = "FILE", display_order = 997)]
    pub(crate) config: Option<PathBuf>,
    /// Colours of help and log; `auto`: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, display_order = 998)]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs everything in one process, with nothing to set up: start here.
    Demo(DemoArgs),
    /// Writes example settings, a provisioning file and a receiver in Python into a folder.
    Init(InitArgs),
    /// Runs the service.
    Serve(ServeArgs),
    /// Provisions what FILE describes; `-` reads standard input.
    Apply(ApplyArgs),
    /// Brings the database to this version's schema.
    Migrate(JsonArg),
    /// Lists the stored rows that this version cannot read, and tries the bucket of attachments.
    Doctor(DoctorArgs),
    /// Copies the SQLite database into FILE while the service runs.
    Backup(BackupArgs),
    /// Removes what is older than the settings `retention.*` keep.
    Prune(PruneArgs),
    /// Runs the marketplace simulator alone.
    Simulate(SimulateArgs),
    /// Prints a new code for the first sign-in, while there are no users.
    FirstRun(JsonArg),
    /// Creates, lists and revokes API keys of an organization.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Creates, lists and revokes personal tokens, with which a person's tools act for the person.
    #[command(subcommand)]
    Tokens(TokensCommand),
    /// Runs the tool server on standard input and output, for an agent that starts it; the token is BIDLOOP_TOKEN.
    Mcp,
    /// Lists the installation's organizations.
    #[command(subcommand)]
    Organizations(OrganizationsCommand),
    /// Lists campaigns with what they lack and brought in.
    #[command(subcommand)]
    Campaigns(CampaignsCommand),
    /// Lists a campaign's leads; shows, configures or reopens one.
    #[command(subcommand)]
    Leads(LeadsCommand),
    /// Lists queued bids; settles one whose answer cannot be had.
    #[command(subcommand)]
    Bids(BidsCommand),
    /// Prints the Activity record as JSON lines, newest first.
    Activity(ActivityArgs),
    /// Tests webhook endpoints.
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Tests saved filters against job posts.
    #[command(subcommand)]
    Filters(FiltersCommand),
    /// Prints the interface description (OpenAPI 3.1).
    Openapi(OpenapiArgs),
    /// Checks a marketplace, or a translator in front of one.
    #[command(subcommand)]
    Marketplace(MarketplaceCommand),
    /// Shows or checks the settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Asks the service of these settings whether it is ready: exit status 0, or else 1.
    Healthcheck(JsonArg),
    /// Prints a script that completes bidloop's commands in a shell.
    Completions(CompletionsArgs),
    /// Prints the manual page bidloop(1), or writes a page for each command into a folder.
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct OpenapiArgs {
    /// The description is JSON with or without this flag.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print a line of JSON for each row, and one with the numbers at the end.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct JsonArg {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Where the demo keeps its database, attachments and key.
    #[arg(long, value_name = "DIR", default_value = "bidloop-data")]
    pub(crate) data_dir: PathBuf,
    /// Address of the HTTP API; the default is the setting server.listen.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Answer each job.new with a bid through its bidUrl.
    #[arg(long)]
    pub(crate) auto_reply: bool,
    /// Jobs per second that the simulated marketplace publishes.
    #[arg(long, value_name = "JOBS_PER_SECOND", default_value_t = 1.0)]
    pub(crate) rate: f64,
    /// Seed of the generated job posts.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Stop after this many seconds.
    #[arg(long = "for", value_name = "SECONDS")]
    pub(crate) stop_after: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The roles of this process, separated by commas.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "api,watch,dispatch,submit"
    )]
    pub(crate) role: Vec<Role>,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// JSON, or TOML if the name ends in .toml; `-` is standard input.
    pub(crate) file: PathBuf,
    /// The report is JSON with or without this flag.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The copy. It must not exist yet.
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Only count what would be removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// Address to listen on.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9090")]
    pub(crate) listen: SocketAddr,
    /// Publish these JobPosts, one a line.
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) jobs: Option<PathBuf>,
    /// Publish at this rate: the file's posts, or generated ones without a file.
    #[arg(long, value_name = "JOBS_PER_SECOND")]
    pub(crate) rate: Option<f64>,
    /// Seed of the generated job posts.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// A bidder account that this token opens, with 1,000 connects; may be repeated.
    #[arg(long = "account", value_name = "TOKEN", default_value = "simulator-token")]
    pub(crate) accounts: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Creates a key and shows it once.
    Create {
        /// The organization.
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: OrganizationId,
        /// Shown as the actor in the Activity record.
        #[arg(long)]
        name: String,
        /// The key's id; made up if left out.
        #[arg(long, value_parser = ApiKeyId::parse)]
        id: Option<ApiKeyId>,
        /// From when on the key is refused.
        #[arg(long, value_name = "RFC3339", value_parser = parse_moment)]
        expires_at: Option<Timestamp>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Lists an organization's keys.
    List {
        /// The organization.
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: OrganizationId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revokes a key. Once this has ended, every process refuses the key.
    Revoke {
        /// The organization.
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: OrganizationId,
        /// The key, as `keys list` shows it.
        #[arg(long, value_parser = ApiKeyId::parse)]
        id: ApiKeyId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Creates a token and shows it once.
    Create {
        /// The organization.
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: OrganizationId,
        /// The member whose tools use it.
        #[arg(long, value_name = "EMAIL")]
        user: String,
        /// What the person calls it.
        #[arg(long)]
        name: String,
        /// What it may be used for: read, bid, or manage (owners).
        #[arg(long, value_parser = parse_scope)]
        scope: TokenScope,
        /// From when on the token is refused.
        #[arg(long, value_name = "RFC3339", value_parser = parse_moment)]
        expires_at: Option<Timestamp>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Lists a member's tokens.
    List {
        /// The organization.
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: OrganizationId,
        /// The member.
        #[arg(long, value_name = "EMAIL")]
        user: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revokes a token immediately.
    Revoke {
        /// The organization.
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: OrganizationId,
        /// The member.
        #[arg(long, value_name = "EMAIL")]
        user: String,
        /// The token, as `tokens list` shows it.
        #[arg(long, value_parser = PersonalTokenId::parse)]
        id: PersonalTokenId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LeadsCommand {
    /// Lists a campaign's matches, newest first, as the console's Feed does.
    List(ListLeadsArgs),
    /// Shows a lead, its configuration and its bid.
    Show {
        /// The lead.
        #[arg(long, value_name = "ID", value_parser = LeadId::parse)]
        lead: LeadId,
        /// The result is JSON with or without this flag.
        #[arg(long)]
        json: bool,
    },
    /// Replaces the lead's own bidding configuration; `{}` clears it.
    Configure {
        /// The lead.
        #[arg(long, value_name = "ID", value_parser = LeadId::parse)]
        lead: LeadId,
        /// A BiddingConfigOverride (JSON); `-` is standard input.
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Sets a skipped or failed lead back to `new`.
    Reopen {
        /// The lead.
        #[arg(long, value_name = "ID", value_parser = LeadId::parse)]
        lead: LeadId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum BidsCommand {
    /// Lists queued bids, oldest first.
    List {
        /// Only those that the marketplace has not answered, beyond their deadline or without an account.
        #[arg(long)]
        unsettled: bool,
        /// Only this organization's bids.
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: Option<OrganizationId>,
        /// At most so many bids.
        #[arg(long, value_name = "N", default_value_t = 1000)]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Ends an unanswered bid as the marketplace's answer would have ended it.
    Settle {
        /// The bid, as `bids list` shows it.
        #[arg(long, value_name = "ID", value_parser = parse_bid)]
        bid: BidId,
        /// What the marketplace shows.
        #[arg(long = "as", value_enum)]
        outcome: SettledAs,
        /// The marketplace's id of the proposal.
        #[arg(long, value_name = "ID", required_if_eq("outcome", "submitted"))]
        proposal_id: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SettledAs {
    /// The marketplace has the proposal.
    Submitted,
    /// It has not.
    NotSubmitted,
}

#[derive(Debug, Args)]
pub(crate) struct ActivityArgs {
    /// Only this organization's entries.
    #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
    pub(crate) organization: Option<OrganizationId>,
    /// Only this campaign's entries.
    #[arg(long, value_name = "ID", value_parser = CampaignId::parse)]
    pub(crate) campaign: Option<CampaignId>,
    /// Only this lead's entries.
    #[arg(long, value_name = "ID", value_parser = LeadId::parse)]
    pub(crate) lead: Option<LeadId>,
    /// At most so many entries.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: u32,
    /// Print these oldest first, and then each new entry, until SIGINT or SIGTERM.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// The entries are JSON with or without this flag.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FiltersCommand {
    /// Shows which jobs a filter matches.
    Test {
        /// A saved filter (JSON).
        #[arg(long, value_name = "FILE")]
        filter: PathBuf,
        /// JobPosts, one a line; the stored jobs if left out.
        #[arg(long, value_name = "FILE.jsonl")]
        jobs: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Shows which conditions of a filter hold for one job.
    Explain {
        /// A saved filter (JSON).
        #[arg(long, value_name = "FILE")]
        filter: PathBuf,
        /// One JobPost (JSON).
        #[arg(long, value_name = "FILE")]
        job: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum MarketplaceCommand {
    /// Checks that a server keeps the marketplace protocol, rule by rule. Bids nothing unless a job is named.
    Check(MarketplaceCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct MarketplaceCheckArgs {
    /// The server's address, as in marketplace.base_url.
    pub(crate) url: String,
    /// The token of a bidder account. Other users of this machine can see it: prefer --token-file or the environment.
    #[arg(
        long,
        value_name = "TOKEN",
        env = "BIDLOOP_MARKETPLACE__TOKEN",
        hide_env_values = true
    )]
    pub(crate) token: Option<String>,
    /// A file that holds the token; `-` is standard input. Comes before --token.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// A file that holds the token for the feed, if it has one of its own.
    #[arg(long, value_name = "FILE")]
    pub(crate) feed_token_file: Option<PathBuf>,
    /// Make one proposal on this job. It costs connects, and a client may see it.
    #[arg(long, value_name = "JOB_ID")]
    pub(crate) allow_proposals: Option<String>,
    /// The time limit of a call, as in marketplace.timeout_ms.
    #[arg(long, value_name = "MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    pub(crate) timeout_ms: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Shows each setting, and where its value comes from. Secrets are hidden.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Loads the settings and reports every fault.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

fn parse_bid(text: &str) -> Result<BidId, &'static str> {
    let id = Uuid::parse_str(text).map_err(|_| "not the id of a bid, which `bidloop bids list` shows")?;
    Ok(BidId(id))
}

fn parse_scope(text: &str) -> Result<TokenScope, &'static str> {
    text.parse().map_err(|_| "neither read, bid nor manage")
}

fn parse_moment(text: &str) -> Result<Timestamp, &'static str> {
    let moment = OffsetDateTime::parse(text, &Rfc3339)
        .map_err(|_| "not an RFC 3339 date and time such as 2027-01-31T12:00:00Z")?;
    let millis = moment.unix_timestamp_nanos().div_euclid(1_000_000);
    Ok(Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX)))
}
