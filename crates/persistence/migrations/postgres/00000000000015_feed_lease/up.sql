-- One row: who reads the feed, and until when unless the lease is renewed. Apart from the position, which is locked for as
-- long as a page is recorded.
CREATE TABLE feed_lease (
    id BIGINT NOT NULL CHECK (id = 1),
    lease_owner TEXT,
    lease_until BIGINT,
    PRIMARY KEY (id)
);
INSERT INTO feed_lease (id) VALUES (1);
