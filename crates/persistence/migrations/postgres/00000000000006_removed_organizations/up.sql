-- Organizations that were removed, until what they had is erased. Until then no other has the id. One process at a time
-- erases, under a lease.
CREATE TABLE removed_organizations (
    id TEXT COLLATE "C" NOT NULL,
    removed_at BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT,
    PRIMARY KEY (id)
);
