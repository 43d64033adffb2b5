//! The statuses of a lead (decision B1).

use super::words::words;

words! {
    /// A lead's status (decision B1).
    pub enum LeadStatus {
        /// Neither bid on nor rejected.
        New,
        /// A bid is accepted and awaits submission.
        Queued,
        /// The marketplace has the proposal.
        Submitted,
        /// The configuration said not to bid.
        Skipped,
        /// The marketplace refused for good, or the deadline passed.
        Failed,
        /// The caller rejected it.
        Rejected,
    }
}

impl LeadStatus {
    /// Whether a bid, a rejection or an upload is possible (decisions B1 and A10).
    pub const fn is_open(self) -> bool {
        matches!(self, Self::New)
    }

    /// Whether an operator may set the lead back to `new` (decision B1).
    pub const fn is_reopenable(self) -> bool {
        matches!(self, Self::Skipped | Self::Failed)
    }
}
