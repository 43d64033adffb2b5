//! Gathering fresh counts and adding them up: a pass takes so much, and a damaged row holds up nothing.

#![expect(clippy::unwrap_used, reason = "test code")]

use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    counts_of_the_same_thing_are_gathered_and_added_up_once,
    long_rows_are_gathered_in_several_passes,
    many_rows_are_gathered_in_several_passes,
    gathered_counts_are_added_up_row_by_row,
    a_damaged_row_is_passed_over,
);

const FRESH: &str = "SELECT count(*) FROM fresh_counts";
const UNGATHERED: &str = "SELECT count(*) FROM fresh_counts WHERE NOT is_gathered";
const COUNTED: &str = "SELECT CAST(coalesce(sum(count), 0) AS BIGINT) FROM statistics WHERE step = 'hour'";

async fn insert(bed: &TestDatabase, lists: &[String]) {
    let rows: Vec<String> = lists.iter().map(|list| format!("(3600000, '{list}')")).collect();
    let rows = rows.join(", ");
    bed.run_sql(&format!("INSERT INTO fresh_counts (hour, counts) VALUES {rows}"))
        .await;
}

/// A list of so many counts.
fn list(counts: usize) -> String {
    list_of("camp", counts)
}

/// The same, of campaigns whose ids begin like this.
fn list_of(campaign: &str, counts: usize) -> String {
    let count = |number| format!(r#"["org_acme","matched","{campaign}_{number}","",0,1]"#);
    let counts: Vec<String> = (0..counts).map(count).collect();
    format!("[{}]", counts.join(","))
}

/// Gathers all there is. Returns how many rows are left to gather after each pass.
async fn left_after_each(bed: &TestDatabase) -> Vec<i64> {
    let statistics = bed.database.statistics();
    let mut left = Vec::new();
    loop {
        let are_more = statistics.gather().await.unwrap();
        left.push(bed.number(UNGATHERED).await);
        if !are_more {
            return left;
        }
    }
}

async fn counts_of_the_same_thing_are_gathered_and_added_up_once(bed: TestDatabase) -> TestDatabase {
    insert(&bed, &vec![list(3); 100]).await;
    assert_eq!(left_after_each(&bed).await, [0]);
    assert_eq!(bed.number(FRESH).await, 1, "three counts are one row");
    assert_eq!(left_after_each(&bed).await, [0]);
    assert_eq!(bed.number(FRESH).await, 1, "what is gathered is left alone");
    let statistics = bed.database.statistics();
    assert!(!statistics.add_up().await.unwrap());
    assert_eq!(bed.number(FRESH).await, 0);
    assert_eq!(bed.number(COUNTED).await, 300);
    assert_eq!(bed.number("SELECT count(*) FROM statistics").await, 6);
    bed
}

async fn long_rows_are_gathered_in_several_passes(bed: TestDatabase) -> TestDatabase {
    // It is the bytes that count.
    let list = list_of(&"long".repeat(80), 5_000);
    insert(&bed, &vec![list; 14]).await;
    let left = left_after_each(&bed).await;
    assert!(left.len() > 1 && left.last() == Some(&0), "{left:?}");
    bed.database.statistics().add_all_up().await.unwrap();
    assert_eq!(bed.number(COUNTED).await, 70_000);
    bed
}

async fn many_rows_are_gathered_in_several_passes(bed: TestDatabase) -> TestDatabase {
    // They are too short for their bytes to matter.
    let mut rows = vec![list(0); 20_499];
    rows.push(list(1));
    insert(&bed, &rows).await;
    assert_eq!(left_after_each(&bed).await, [500, 0]);
    bed.database.statistics().add_all_up().await.unwrap();
    assert_eq!(bed.number(COUNTED).await, 1);
    bed
}

async fn gathered_counts_are_added_up_row_by_row(bed: TestDatabase) -> TestDatabase {
    insert(&bed, &[list(2_500)]).await;
    assert_eq!(left_after_each(&bed).await, [0]);
    // What came later waits for the next gathering.
    insert(&bed, &[list(1)]).await;
    let statistics = bed.database.statistics();
    for (are_more, left, counted) in [(true, 3, 1_000), (true, 2, 2_000), (false, 1, 2_500)] {
        assert_eq!(statistics.add_up().await, Ok(are_more));
        assert_eq!(bed.number(FRESH).await, left);
        assert_eq!(bed.number(COUNTED).await, counted);
    }
    assert_eq!(statistics.add_up().await, Ok(false));
    assert_eq!(bed.number(COUNTED).await, 2_500);
    bed
}

async fn a_damaged_row_is_passed_over(bed: TestDatabase) -> TestDatabase {
    insert(
        &bed,
        &[list(2), "[[\"org_acme\"".to_owned(), String::new(), list(3)],
    )
    .await;
    assert_eq!(left_after_each(&bed).await, [0]);
    bed.database.statistics().add_all_up().await.unwrap();
    assert_eq!(bed.number(COUNTED).await, 5);
    bed
}
