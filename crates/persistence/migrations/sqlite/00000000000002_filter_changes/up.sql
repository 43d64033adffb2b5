-- The revision of each filter's last change, of those that were removed too: who keeps filters in memory reads what
-- changed since. The oldest are dropped when there are many.
CREATE TABLE filter_changes (
    organization_id TEXT NOT NULL,
    filter_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (organization_id, filter_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX filter_changes_by_revision ON filter_changes (revision);

-- The changes after the revision filters_logged_since, up to filters_logged_to, are all in filter_changes. That this is
-- behind the value tells of a commit by a program that knows no filter_changes and still ran when this step did.
ALTER TABLE revision_counter ADD COLUMN filters_logged_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE revision_counter ADD COLUMN filters_logged_to INTEGER NOT NULL DEFAULT 0;
UPDATE revision_counter SET filters_logged_since = value, filters_logged_to = value;
