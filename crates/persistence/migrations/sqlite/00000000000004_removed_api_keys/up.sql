-- Digests of keys that were removed or replaced: no key with one of them is ever provisioned again.
CREATE TABLE removed_api_keys (
    key_hash TEXT NOT NULL,
    PRIMARY KEY (key_hash)
) STRICT, WITHOUT ROWID;
