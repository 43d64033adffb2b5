//! Commands on what organizations have.

use bidloop_domain::model::{CampaignId, EndpointId, EventKind, LeadStatus, OrganizationId};
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum OrganizationsCommand {
    /// Lists all organizations with their subscriptions.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum CampaignsCommand {
    /// Lists campaigns with what they lack and brought in.
    List {
        /// Only this organization's campaigns.
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: Option<OrganizationId>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ListLeadsArgs {
    /// The campaign's organization.
    #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
    pub(crate) organization: OrganizationId,
    /// The campaign.
    #[arg(long, value_name = "ID", value_parser = CampaignId::parse)]
    pub(crate) campaign: CampaignId,
    /// Only leads with this status: new, queued, submitted, skipped, failed or rejected.
    #[arg(long, value_parser = parse_status)]
    pub(crate) status: Option<LeadStatus>,
    /// How many are passed over, from the newest on.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: u64,
    /// At most so many leads.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    /// Sends a test event, built from the most recent lead, to one endpoint. Exit status 1 if it is not delivered.
    Test {
        /// The endpoint's organization.
        #[arg(long, value_name = "ID", value_parser = OrganizationId::parse)]
        organization: OrganizationId,
        /// The endpoint.
        #[arg(long, value_name = "ID", value_parser = EndpointId::parse)]
        id: EndpointId,
        /// job.new or bid_complete; the default is job.new if the endpoint is subscribed to it.
        #[arg(long, value_parser = parse_event)]
        event: Option<EventKind>,
        /// Make the latest matching job a lead if there is no lead yet.
        #[arg(long)]
        make_lead: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

fn parse_status(text: &str) -> Result<LeadStatus, &'static str> {
    let status = text.parse();
    status.map_err(|_| "neither new, queued, submitted, skipped, failed nor rejected")
}

fn parse_event(text: &str) -> Result<EventKind, &'static str> {
    text.parse().map_err(|_| "neither job.new nor bid_complete")
}
