//! Client of the marketplace protocol.
