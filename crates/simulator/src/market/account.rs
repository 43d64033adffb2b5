//! Bidder accounts and the tokens that open them. Holds the balances.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Connects of a new account without a balance.
const DEFAULT_BALANCE: u64 = 100;

#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) connects_balance: u64,
    pub(crate) profile_hourly_rate: Option<f64>,
    /// Compared with a job's `vendorQualifications`. An unknown value does not disqualify.
    pub(crate) job_success_score: Option<f64>,
    pub(crate) earnings: Option<f64>,
    /// Compared with a job's `region`.
    pub(crate) country: Option<String>,
}

impl Account {
    /// The account as JSON of the protocol.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "connectsBalance": self.connects_balance,
            "profileHourlyRate": self.profile_hourly_rate,
        })
    }
}

/// The body of `PUT /sim/accounts/<token>`. Missing members stay unchanged.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct AccountPut {
    id: Option<String>,
    name: Option<String>,
    connects_balance: Option<u64>,
    profile_hourly_rate: ProfileRate,
    job_success_score: Option<f64>,
    earnings: Option<f64>,
    country: Option<String>,
}

/// Absent, null and a number have different meanings.
#[derive(Debug, Default)]
enum ProfileRate {
    #[default]
    Unchanged,
    Set(Option<f64>),
}

impl<'de> Deserialize<'de> for ProfileRate {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::Set)
    }
}

/// Every account, by id, and every token that opens one. Two tokens may open the same account.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    by_id: HashMap<String, Account>,
    tokens: HashMap<String, String>,
}

impl Accounts {
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The account that the token opens.
    pub(crate) fn of_token(&self, token: &str) -> Option<&Account> {
        self.by_id.get(self.tokens.get(token)?)
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&Account> {
        self.by_id.get(id)
    }

    pub(crate) fn by_id_mut(&mut self, id: &str) -> Option<&mut Account> {
        self.by_id.get_mut(id)
    }

    /// Creates or changes the account of a token. With the id of another account, the token opens that one.
    pub(crate) fn put(&mut self, token: &str, put: AccountPut) -> &Account {
        let id = put
            .id
            .or_else(|| self.tokens.get(token).cloned())
            .unwrap_or_else(|| format!("acct_{}", self.by_id.len() + 1));
        self.tokens.insert(token.to_owned(), id.clone());
        let account = self.by_id.entry(id).or_insert_with_key(|id| Account {
            id: id.clone(),
            name: format!("Account {id}"),
            connects_balance: DEFAULT_BALANCE,
            profile_hourly_rate: None,
            job_success_score: None,
            earnings: None,
            country: None,
        });
        if let Some(name) = put.name {
            account.name = name;
        }
        if let Some(balance) = put.connects_balance {
            account.connects_balance = balance;
        }
        if let ProfileRate::Set(rate) = put.profile_hourly_rate {
            account.profile_hourly_rate = rate;
        }
        account.job_success_score = put.job_success_score.or(account.job_success_score);
        account.earnings = put.earnings.or(account.earnings);
        account.country = put.country.or_else(|| account.country.take());
        account
    }

    /// Makes a token invalid; the account and its balance stay.
    pub(crate) fn revoke(&mut self, token: &str) -> bool {
        self.tokens.remove(token).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(accounts: &mut Accounts, token: &str, body: Value) -> Account {
        accounts.put(token, serde_json::from_value(body).unwrap()).clone()
    }

    #[test]
    fn what_a_put_leaves_out_stays() {
        let mut accounts = Accounts::default();
        let first = json!({"id": "a", "name": "Jo", "connectsBalance": 7, "profileHourlyRate": 50});
        put(&mut accounts, "t", first);
        let account = put(&mut accounts, "t", json!({"connectsBalance": 3}));
        assert_eq!((account.name.as_str(), account.connects_balance), ("Jo", 3));
        assert_eq!(account.profile_hourly_rate, Some(50.0));
        let account = put(&mut accounts, "t", json!({"profileHourlyRate": null}));
        assert_eq!(account.profile_hourly_rate, None);
    }

    #[test]
    fn a_new_token_of_the_same_account_shares_its_balance_and_the_old_one_can_be_revoked() {
        let mut accounts = Accounts::default();
        put(&mut accounts, "old", json!({"id": "a", "connectsBalance": 7}));
        put(&mut accounts, "new", json!({"id": "a"}));
        assert_eq!(
            accounts.of_token("new").map(|account| account.connects_balance),
            Some(7)
        );
        assert!(accounts.revoke("old"));
        assert!(accounts.of_token("old").is_none() && accounts.of_token("new").is_some());
        assert_eq!(accounts.len(), 1);
    }
}
