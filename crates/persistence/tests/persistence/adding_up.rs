//! Adding up fresh counts: a pass takes so much, and a damaged row holds up nothing.

#![expect(clippy::unwrap_used, reason = "test code")]

use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    long_rows_are_added_up_in_several_passes,
    many_rows_are_added_up_in_several_passes,
    a_damaged_row_is_passed_over,
);

const FRESH: &str = "SELECT count(*) FROM fresh_counts";
const COUNTED: &str = "SELECT CAST(coalesce(sum(count), 0) AS BIGINT) FROM statistics WHERE step = 'hour'";

async fn insert(bed: &TestDatabase, lists: &[String]) {
    let rows: Vec<String> = lists.iter().map(|list| format!("(3600000, '{list}')")).collect();
    let rows = rows.join(", ");
    bed.run_sql(&format!("INSERT INTO fresh_counts (hour, counts) VALUES {rows}"))
        .await;
}

/// A list of so many counts.
fn list(counts: usize) -> String {
    let count = |number| format!(r#"["org_acme","matched","camp_{number}","",0,1]"#);
    let counts: Vec<String> = (0..counts).map(count).collect();
    format!("[{}]", counts.join(","))
}

/// Adds up all there is. Returns how many fresh rows are left after each pass.
async fn left_after_each(bed: &TestDatabase) -> Vec<i64> {
    let statistics = bed.database.statistics();
    let mut left = Vec::new();
    loop {
        let are_more = statistics.add_up().await.unwrap();
        left.push(bed.number(FRESH).await);
        if !are_more {
            return left;
        }
    }
}

async fn long_rows_are_added_up_in_several_passes(bed: TestDatabase) -> TestDatabase {
    insert(&bed, &vec![list(5_000); 8]).await;
    let left = left_after_each(&bed).await;
    assert!((2..=4).contains(&left.len()), "{left:?}");
    assert!(left[0] > 0 && left.last() == Some(&0), "{left:?}");
    assert_eq!(bed.number(COUNTED).await, 40_000);
    assert_eq!(bed.number("SELECT count(*) FROM statistics").await, 10_000);
    bed
}

async fn many_rows_are_added_up_in_several_passes(bed: TestDatabase) -> TestDatabase {
    insert(&bed, &vec![list(1); 4_500]).await;
    assert_eq!(left_after_each(&bed).await, [2_500, 500, 0]);
    assert_eq!(bed.number(COUNTED).await, 4_500);
    bed
}

async fn a_damaged_row_is_passed_over(bed: TestDatabase) -> TestDatabase {
    insert(
        &bed,
        &[list(2), "[[\"org_acme\"".to_owned(), String::new(), list(3)],
    )
    .await;
    assert_eq!(left_after_each(&bed).await, [0]);
    assert_eq!(bed.number(COUNTED).await, 5);
    bed
}
