-- What a transaction counted, or what was gathered of many, is one row: JSON with an array of organization, measure, campaign, subject, bucket and count for
-- each count. A row for each of them cost more to insert and to delete than all else of it.
ALTER TABLE fresh_counts RENAME TO fresh_counts_apart;
CREATE TABLE fresh_counts (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    hour INTEGER NOT NULL,
    counts TEXT NOT NULL,
    is_gathered INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO fresh_counts (hour, counts)
    SELECT hour, json_array(json_array(organization_id, measure, campaign_id, subject, bucket, count))
    FROM fresh_counts_apart ORDER BY id;
DROP TABLE fresh_counts_apart;
