-- How billing periods follow from the one that was reported last.
ALTER TABLE organizations ADD COLUMN renewal TEXT COLLATE "C" NOT NULL DEFAULT 'same_length';
-- NULL: no limit.
ALTER TABLE organizations ALTER COLUMN proposal_limit DROP NOT NULL;
-- The payment provider's customer who pays. It may pay for several organizations.
ALTER TABLE organizations ADD COLUMN customer TEXT COLLATE "C";
CREATE INDEX organizations_by_customer ON organizations (customer);

-- What the payment provider reported of its subscriptions, as JSON. A report brings the provider's id and nothing else, so the
-- look-up is global; the organization is null until it is known.
CREATE TABLE billed_subscriptions (
    id TEXT COLLATE "C" NOT NULL,
    organization_id TEXT COLLATE "C",
    events TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX billed_subscriptions_by_organization ON billed_subscriptions (organization_id);
