//! Invariants for any sequence of proposals.

use super::*;
use proptest::prelude::*;

const BALANCE: u64 = 150;

fn market() -> (Market, Ids) {
    let ids = Ids::new(0);
    let mut market = Market::new(1, None);
    for id in 0..4 {
        let value = json!({"id": format!("j{id}"), "title": "T", "metadata": {"fixedPrice": 50}});
        let (post, _) = post::complete(value, "http://market.test", &ids, 0).unwrap();
        market.publish(post);
    }
    let account = json!({"id": "a", "connectsBalance": BALANCE});
    market.put_account("t", serde_json::from_value(account).unwrap());
    (market, ids)
}

fn call(key: u8, job: u8, boost: u32) -> Call {
    let body = json!({"jobId": format!("j{job}"), "coverLetter": "Hi", "answers": [],
        "terms": {"type": "fixed", "amount": 50}, "boostConnects": boost});
    Call {
        key: format!("k{key}"),
        token: "t".to_owned(),
        traceparent: None,
        body,
        at: 5,
    }
}

proptest! {
    #[test]
    fn connects_are_spent_once_for_each_job_and_answers_repeat(
        calls in prop::collection::vec((0u8..6, 0u8..5, 0u32..40), 1..40)
    ) {
        let (mut market, ids) = market();
        let mut accepted: HashMap<u8, (Value, Value)> = HashMap::new();
        let mut jobs = HashSet::new();
        let mut spent = 0;
        for (key, job, boost) in calls {
            let call = call(key, job, boost);
            let body = call.body.clone();
            match market.propose(call, &ids) {
                Ok((StatusCode::CREATED, answer)) => {
                    prop_assert!(jobs.insert(job), "one proposal for a job");
                    prop_assert_eq!(&answer["connectsSpent"], &json!(8 + boost));
                    spent += u64::from(8 + boost);
                    prop_assert!(accepted.insert(key, (body, answer)).is_none(), "one proposal for a key");
                }
                Ok((status, answer)) => {
                    prop_assert_eq!(status, StatusCode::OK);
                    prop_assert_eq!(accepted.get(&key), Some(&(body, answer)));
                }
                Err(refusal) => {
                    let expected = match (accepted.contains_key(&key), jobs.contains(&job), job) {
                        (true, ..) => "invalid",
                        (false, true, _) => "already_applied",
                        (false, false, 4) => "job_not_found",
                        _ => "insufficient_connects",
                    };
                    prop_assert_eq!(refusal.code, expected);
                }
            }
            let balance = market.account(Some("t")).unwrap()["connectsBalance"].as_u64().unwrap();
            prop_assert_eq!(balance + spent, BALANCE);
        }
        prop_assert_eq!(market.stats()["proposalsAccepted"].as_u64().unwrap(), accepted.len() as u64);
    }
}
