//! The stream of leads, while the list changes.

use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};

use crate::server::{Server, Step};
use crate::{client, lead, run, standard};

/// The page at `offset` of a list of leads with these numbers.
fn page(list: &[u32], offset: usize) -> Step {
    let data: Vec<Value> = list
        .iter()
        .skip(offset)
        .take(100)
        .map(|number| lead(&format!("ld_{number}")))
        .collect();
    let has_more = offset + data.len() < list.len();
    Step::json(
        200,
        &json!({"data": data, "total": list.len(), "offset": offset, "limit": 100, "hasMore": has_more}),
    )
}

/// The numbers of the leads that the stream yields, and the offsets it asked for.
async fn read(script: Vec<Step>) -> (Vec<u32>, Vec<u32>) {
    let server = Server::start(script);
    let leads: Vec<_> = client(&server).leads("camp").try_collect().await.unwrap();
    let number = |text: &str| text.trim_start_matches("ld_").parse().unwrap();
    let numbers = leads.iter().map(|lead| number(&lead.id)).collect();
    let offset = |target: &str| target.split(['=', '&']).nth(1).unwrap().parse().unwrap();
    let offsets = server
        .requests()
        .iter()
        .map(|request| offset(&request.target))
        .collect();
    (numbers, offsets)
}

/// From the newest, which has the highest number, to the oldest.
fn newest_first(oldest: u32, newest: u32) -> Vec<u32> {
    (oldest..=newest).rev().collect()
}

#[test]
fn a_list_is_read_page_by_page_until_it_has_no_more() {
    run(async {
        let list = newest_first(1, 250);
        let (numbers, offsets) = read(vec![page(&list, 0), page(&list, 99), page(&list, 198)]).await;
        assert_eq!(numbers, list);
        assert_eq!(offsets, [0, 99, 198]);
        assert_eq!(read(vec![page(&[], 0)]).await.0, [0; 0]);
        assert_eq!(read(vec![page(&[7], 0)]).await.0, [7]);
    });
}

#[test]
fn leads_that_new_ones_push_down_come_once() {
    run(async {
        let (before, after) = (newest_first(1, 150), newest_first(1, 180));
        let (numbers, _) = read(vec![page(&before, 0), page(&after, 99)]).await;
        assert_eq!(numbers, before);
    });
}

#[test]
fn leads_that_move_up_because_others_left_the_list_are_not_missed() {
    run(async {
        let before = newest_first(1, 250);
        // All of the first page but the last twenty leave the list.
        let after = newest_first(1, 170);
        let script = vec![
            page(&before, 0),
            page(&after, 99),
            page(&after, 0),
            page(&after, 99),
        ];
        let (numbers, offsets) = read(script).await;
        assert_eq!(numbers, before);
        assert_eq!(offsets, [0, 99, 0, 99]);
    });
}

#[test]
fn a_list_that_becomes_empty_ends_the_stream() {
    run(async {
        let before = newest_first(1, 150);
        let (numbers, _) = read(vec![page(&before, 0), page(&[], 99), page(&[], 0)]).await;
        assert_eq!(numbers, newest_first(51, 150));
    });
}

#[test]
fn an_error_ends_the_stream() {
    run(async {
        let list = newest_first(1, 150);
        let server = Server::start(vec![
            page(&list, 0),
            Step::json(404, &standard(404, "campaign not found")),
        ]);
        let results: Vec<_> = client(&server).leads("camp").collect().await;
        assert_eq!(results.len(), 101);
        assert_eq!(results[100].as_ref().unwrap_err().status(), Some(404));
    });
}
