//! The tables, in portable column types. Both migration folders create them; a test compares the two databases.
//!
//! Conventions: ids and words are `Text`, times UNIX milliseconds and money cents as `BigInt`. Text from outside is
//! [`EscapedText`](crate::sql_types::EscapedText), and JSON that the program itself reads is
//! [`JsonText`](crate::sql_types::JsonText).

diesel::table! {
    use crate::sql_types::{BigInt, Bool, EscapedText, Nullable, Text};

    organizations (id) {
        id -> Text,
        name -> EscapedText,
        subscription_status -> Text,
        collection_paused -> Bool,
        period_start -> BigInt,
        period_end -> BigInt,
        proposal_limit -> Nullable<BigInt>,
        renewal -> Text,
        customer -> Nullable<Text>,
    }
}

diesel::table! {
    use crate::sql_types::{JsonText, Nullable, Text};

    billed_subscriptions (id) {
        id -> Text,
        organization_id -> Nullable<Text>,
        events -> JsonText,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, Nullable, Text};

    removed_organizations (id) {
        id -> Text,
        removed_at -> BigInt,
        lease_owner -> Nullable<Text>,
        lease_until -> Nullable<BigInt>,
    }
}

diesel::table! {
    use crate::sql_types::{EscapedText, Nullable};

    people (email_key) {
        email_key -> EscapedText,
        email -> EscapedText,
        name -> EscapedText,
        password_hash -> Nullable<EscapedText>,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, EscapedText, Nullable, Text};

    memberships (organization_id, email_key) {
        organization_id -> Text,
        email_key -> EscapedText,
        role -> Text,
        last_seen_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, EscapedText, Text};

    sessions (organization_id, token_hash) {
        organization_id -> Text,
        token_hash -> Text,
        email_key -> EscapedText,
        created_at -> BigInt,
        last_used_at -> BigInt,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, EscapedText, Text};

    one_time_links (organization_id, id) {
        organization_id -> Text,
        id -> Text,
        token_hash -> Text,
        kind -> Text,
        email_key -> EscapedText,
        email -> EscapedText,
        name -> EscapedText,
        role -> Text,
        made_by -> EscapedText,
        created_at -> BigInt,
        expires_at -> BigInt,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, EscapedText, Nullable, Text};

    personal_tokens (organization_id, id) {
        organization_id -> Text,
        id -> Text,
        token_hash -> Text,
        email_key -> EscapedText,
        name -> EscapedText,
        scope -> Text,
        created_at -> BigInt,
        last_used_at -> Nullable<BigInt>,
        expires_at -> Nullable<BigInt>,
        revoked_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, Nullable, Text};

    sign_in_tries (subject) {
        subject -> Text,
        failures -> BigInt,
        since -> BigInt,
        waits_until -> Nullable<BigInt>,
        forgotten_at -> BigInt,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, Nullable, Text};

    first_run_codes (code_hash) {
        code_hash -> Text,
        created_at -> BigInt,
        replaced_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, EscapedText, Nullable, Text};

    api_keys (organization_id, id) {
        organization_id -> Text,
        id -> Text,
        key_hash -> Text,
        name -> EscapedText,
        created_at -> BigInt,
        last_used_at -> Nullable<BigInt>,
        expires_at -> Nullable<BigInt>,
        revoked_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    use crate::sql_types::Text;

    removed_api_keys (key_hash) {
        key_hash -> Text,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, Bool, EscapedText, JsonText, Nullable, Text};

    webhook_endpoints (organization_id, id) {
        organization_id -> Text,
        id -> Text,
        campaign_id -> Nullable<Text>,
        url -> EscapedText,
        events -> JsonText,
        active -> Bool,
        created_at -> BigInt,
        secret -> Text,
        previous_secret -> Nullable<Text>,
        previous_secret_until -> Nullable<BigInt>,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, Bool, Double, EscapedText, Nullable, Text};

    bidder_accounts (organization_id, id) {
        organization_id -> Text,
        id -> Text,
        name -> EscapedText,
        token -> EscapedText,
        connected -> Bool,
        profile_hourly_rate -> Nullable<Double>,
        connects_balance -> Nullable<BigInt>,
        read_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, EscapedText, JsonText, Nullable, Text};

    campaigns (organization_id, id) {
        organization_id -> Text,
        id -> Text,
        name -> EscapedText,
        mode -> Text,
        state -> Text,
        account_id -> Nullable<Text>,
        bidding_config -> JsonText,
        proposal -> JsonText,
        attachments -> JsonText,
        revision -> BigInt,
        matched_revision -> BigInt,
        generation -> BigInt,
        last_generation -> BigInt,
        match_total -> BigInt,
        last_match_at -> Nullable<BigInt>,
        match_settled -> BigInt,
        match_gap -> BigInt,
    }
}

diesel::table! {
    use crate::sql_types::{EscapedText, JsonText, Text};

    filters (organization_id, id) {
        organization_id -> Text,
        id -> Text,
        campaign_id -> Text,
        name -> EscapedText,
        body -> JsonText,
    }
}

diesel::table! {
    filter_changes (organization_id, filter_id) {
        organization_id -> Text,
        filter_id -> Text,
        revision -> BigInt,
    }
}

diesel::table! {
    revision_counter (id) {
        id -> BigInt,
        value -> BigInt,
        filters_logged_since -> BigInt,
        filters_logged_to -> BigInt,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, EscapedText, Nullable};

    feed_position (id) {
        id -> BigInt,
        position -> Nullable<EscapedText>,
        last_job_seq -> BigInt,
        pruned_before -> Nullable<BigInt>,
        pruned_to -> BigInt,
        read_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    feed_lease (id) {
        id -> BigInt,
        lease_owner -> Nullable<Text>,
        lease_until -> Nullable<BigInt>,
    }
}

diesel::table! {
    job_ages (at) {
        at -> BigInt,
        last_job_seq -> BigInt,
    }
}

diesel::table! {
    jobs (id) {
        id -> Text,
        seq -> BigInt,
        posted_at -> BigInt,
        json -> Text,
    }
}

diesel::table! {
    job_signatures (seq) {
        seq -> BigInt,
        signature -> Binary,
    }
}

diesel::table! {
    matches (organization_id, campaign_id, generation, seq) {
        organization_id -> Text,
        campaign_id -> Text,
        generation -> BigInt,
        seq -> BigInt,
        job_id -> Text,
        created_at -> BigInt,
        lead_status -> Text,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, EscapedText, Text};

    feed_looks (organization_id, email_key, campaign_id) {
        organization_id -> Text,
        email_key -> EscapedText,
        campaign_id -> Text,
        looked_at -> BigInt,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, EscapedText, JsonText, Nullable, Text};

    leads (organization_id, id) {
        organization_id -> Text,
        id -> Text,
        campaign_id -> Text,
        job_id -> Text,
        created_at -> BigInt,
        status -> Text,
        reason -> Nullable<JsonText>,
        rejection_reason -> Nullable<EscapedText>,
        proposal_id -> Nullable<EscapedText>,
        bidding_config -> JsonText,
        bid_id -> Nullable<Text>,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, JsonText, Text};

    lead_attachments (organization_id, lead_id, position) {
        organization_id -> Text,
        lead_id -> Text,
        position -> BigInt,
        name_digest -> Text,
        attachment -> JsonText,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, Bool, EscapedText, JsonText, Nullable, Text};

    bids (organization_id, id) {
        organization_id -> Text,
        id -> Text,
        campaign_id -> Text,
        lead_id -> Text,
        job_id -> Text,
        account_id -> Text,
        cover_letter -> EscapedText,
        answers -> JsonText,
        config -> JsonText,
        attachments -> JsonText,
        queued_at -> BigInt,
        period_start -> BigInt,
        deadline -> BigInt,
        status -> Text,
        next_attempt_at -> BigInt,
        attempts -> BigInt,
        proposal -> Nullable<JsonText>,
        answer_outstanding -> Bool,
        lease_owner -> Nullable<Text>,
        lease_until -> Nullable<BigInt>,
        reason -> Nullable<JsonText>,
        proposal_id -> Nullable<EscapedText>,
        submitted_at -> Nullable<BigInt>,
        terms -> Nullable<JsonText>,
        boost_connects -> BigInt,
        connects_spent -> BigInt,
        ended_at -> Nullable<BigInt>,
        trace_parent -> Nullable<Text>,
    }
}

diesel::table! {
    quota_usage (organization_id, period_start) {
        organization_id -> Text,
        period_start -> BigInt,
        period_end -> BigInt,
        used -> BigInt,
    }
}

diesel::table! {
    automatic_bids (organization_id, lead_id) {
        organization_id -> Text,
        lead_id -> Text,
        campaign_id -> Text,
        queued_at -> BigInt,
        lease_owner -> Nullable<Text>,
        lease_until -> Nullable<BigInt>,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, Bool, JsonText, Nullable, Text};

    deliveries (organization_id, id) {
        organization_id -> Text,
        id -> Text,
        endpoint_id -> Text,
        campaign_id -> Text,
        lead_id -> Text,
        event -> Text,
        data -> Nullable<Text>,
        created_at -> BigInt,
        state -> Text,
        owner -> Nullable<Text>,
        owner_until -> Nullable<BigInt>,
        reason -> Nullable<Text>,
        ended_at -> Nullable<BigInt>,
        is_test -> Bool,
        sent_by -> Nullable<JsonText>,
        trace_parent -> Nullable<Text>,
    }
}

diesel::table! {
    statistics (organization_id, step, measure, starts_at, campaign_id, subject, bucket) {
        organization_id -> Text,
        step -> Text,
        measure -> Text,
        starts_at -> BigInt,
        campaign_id -> Text,
        subject -> Text,
        bucket -> BigInt,
        count -> BigInt,
    }
}

diesel::table! {
    told_leads (organization_id, lead_id) {
        organization_id -> Text,
        lead_id -> Text,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, Bool, JsonText};

    fresh_counts (id) {
        id -> BigInt,
        hour -> BigInt,
        counts -> JsonText,
        is_gathered -> Bool,
    }
}

diesel::table! {
    endpoint_tries (organization_id, endpoint_id, id) {
        organization_id -> Text,
        endpoint_id -> Text,
        id -> Text,
        at -> BigInt,
    }
}

diesel::table! {
    use crate::sql_types::{BigInt, Bool, EscapedText, JsonText, Nullable, Text};

    activities (organization_id, id) {
        organization_id -> Text,
        id -> Text,
        at -> BigInt,
        campaign_id -> Nullable<Text>,
        lead_id -> Nullable<Text>,
        kind -> Text,
        actor_kind -> Text,
        actor_id -> Nullable<EscapedText>,
        actor_name -> Nullable<EscapedText>,
        outcome -> Text,
        http_status -> Nullable<BigInt>,
        dry_run -> Bool,
        message -> EscapedText,
        details -> JsonText,
    }
}

// The tables that a query joins.
diesel::allow_tables_to_appear_in_same_query!(
    activities,
    api_keys,
    bidder_accounts,
    bids,
    campaigns,
    filter_changes,
    filters,
    job_signatures,
    jobs,
    lead_attachments,
    leads,
    matches,
    memberships,
    organizations,
    people,
    personal_tokens,
    quota_usage,
    sessions,
);
