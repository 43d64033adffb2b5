//! The contract that every implementation of a domain port must meet, as a test suite.
