-- How billing periods follow from the one that was reported last.
ALTER TABLE organizations ADD COLUMN renewal TEXT NOT NULL DEFAULT 'same_length';
-- NULL: no limit. SQLite cannot lift NOT NULL, so another column takes the place.
ALTER TABLE organizations ADD COLUMN limit_or_none INTEGER;
UPDATE organizations SET limit_or_none = proposal_limit;
ALTER TABLE organizations DROP COLUMN proposal_limit;
ALTER TABLE organizations RENAME COLUMN limit_or_none TO proposal_limit;
-- The payment provider's customer who pays. It may pay for several organizations.
ALTER TABLE organizations ADD COLUMN customer TEXT;
CREATE INDEX organizations_by_customer ON organizations (customer);

-- What the payment provider reported of its subscriptions, as JSON. A report brings the provider's id and nothing else, so the
-- look-up is global; the organization is null until it is known.
CREATE TABLE billed_subscriptions (
    id TEXT NOT NULL,
    organization_id TEXT,
    events TEXT NOT NULL,
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX billed_subscriptions_by_organization ON billed_subscriptions (organization_id);
