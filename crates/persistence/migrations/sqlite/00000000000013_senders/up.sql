-- Who had an event sent at once, as JSON: it is the actor of the delivery's end, however it ends.
ALTER TABLE deliveries ADD COLUMN sent_by TEXT;
