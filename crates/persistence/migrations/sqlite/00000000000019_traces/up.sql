-- The trace that a bid or a delivery belongs to, as the header `traceparent` carries it.
ALTER TABLE bids ADD COLUMN trace_parent TEXT;
ALTER TABLE deliveries ADD COLUMN trace_parent TEXT;
