-- A person is one e-mail address in the installation, and a member of organizations.
CREATE TABLE people (
    -- The address as it is compared: after NFC and full case folding.
    email_key TEXT NOT NULL,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    password_hash TEXT,
    PRIMARY KEY (email_key)
) STRICT;

CREATE TABLE memberships (
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    email_key TEXT NOT NULL REFERENCES people (email_key),
    role TEXT NOT NULL,
    last_seen_at INTEGER,
    PRIMARY KEY (organization_id, email_key)
) STRICT;
CREATE INDEX memberships_of_person ON memberships (email_key);

-- Users of organizations become their owners. Of several names and passwords for one address, those in the organization
-- with the least id stay. Addresses beyond ASCII are folded by the program afterwards.
CREATE INDEX users_by_address ON users (email_key, organization_id);
INSERT INTO people (email_key, email, name, password_hash)
SELECT one.email_key, one.email, one.name, (
    SELECT other.password_hash FROM users other
    WHERE other.email_key = one.email_key AND other.password_hash IS NOT NULL
    ORDER BY other.organization_id LIMIT 1
)
FROM users one
WHERE NOT EXISTS (
    SELECT 1 FROM users other
    WHERE other.email_key = one.email_key AND other.organization_id < one.organization_id
);
INSERT INTO memberships (organization_id, email_key, role)
SELECT organization_id, email_key, 'owner' FROM users;
DROP TABLE users;

CREATE TABLE sessions (
    -- The organization that is shown.
    organization_id TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    email_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, token_hash)
) STRICT;
-- A browser brings a token and nothing else, so this look-up is global.
CREATE UNIQUE INDEX sessions_by_hash ON sessions (token_hash);
CREATE INDEX sessions_of_person ON sessions (email_key);
CREATE INDEX sessions_by_use ON sessions (last_used_at);

-- Invitations and password resets that were not used yet.
CREATE TABLE one_time_links (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    email_key TEXT NOT NULL,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    -- The address of the owner who made it.
    made_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, id)
) STRICT;
CREATE UNIQUE INDEX one_time_links_by_hash ON one_time_links (token_hash);
CREATE INDEX one_time_links_by_end ON one_time_links (expires_at);

CREATE TABLE personal_tokens (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    email_key TEXT NOT NULL,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at INTEGER,
    revoked_at INTEGER,
    PRIMARY KEY (organization_id, id)
) STRICT;
CREATE UNIQUE INDEX personal_tokens_by_hash ON personal_tokens (token_hash);

-- How often somebody tried to sign in, by address and by network.
CREATE TABLE sign_in_tries (
    subject TEXT NOT NULL,
    failures INTEGER NOT NULL,
    since INTEGER NOT NULL,
    waits_until INTEGER,
    -- From when on the row says nothing.
    forgotten_at INTEGER NOT NULL,
    PRIMARY KEY (subject)
) STRICT;
CREATE INDEX sign_in_tries_by_end ON sign_in_tries (forgotten_at);

-- The last codes for the first sign-in, while there are no people.
CREATE TABLE first_run_codes (
    code_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    replaced_at INTEGER,
    PRIMARY KEY (code_hash)
) STRICT;
