//! The parts of statements that each database has words of its own for: PostgreSQL's. The statements are in `queries`.

/// Locks the rows that a query finds until the transaction ends.
macro_rules! for_update {
    ($query:expr) => {
        $query.for_update()
    };
}

/// Locks the rows that a query finds until the transaction ends, but not against `for_key_share!`.
macro_rules! for_no_key_update {
    ($query:expr) => {
        $query.for_no_key_update()
    };
}

/// Keeps the rows that a query finds from being removed or locked by `for_update!` until the transaction ends; others may
/// do the same, and may change them.
macro_rules! for_key_share {
    ($query:expr) => {
        $query.for_key_share()
    };
}

/// Keeps the rows that a query finds from changing until the transaction ends; others may do the same.
macro_rules! for_share {
    ($query:expr) => {
        $query.for_share()
    };
}

/// Waits until no other transaction has this turn, a text. The transaction has it until it ends.
macro_rules! take_turn {
    ($conn:expr, $turn:expr) => {
        diesel::sql_query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))")
            .bind::<diesel::sql_types::Text, _>($turn)
            .execute($conn)
            .await?
    };
}

/// Loads what statements find. Sent at once, they cost one way to the server, which runs them in their order. They must do
/// nothing but read and lock.
macro_rules! load_together {
    ($conn:expr, $($statement:expr),+ $(,)?) => {{
        let conn: &Conn = $conn;
        futures::try_join!($($statement.load(conn)),+)
    }};
}

/// Nothing to do: pages are the server's.
macro_rules! give_pages_back {
    ($conn:expr) => {
        let _: &Conn = $conn;
    };
}

/// Whether a column has one of some values. They are one array.
macro_rules! one_of {
    ($column:expr, $values:expr) => {
        $column.eq_any($values)
    };
}

/// As `one_of!`, for a small table. PostgreSQL reads it whole, and would compare each row with each value of an array: 1,000
/// rows and 312 values in 5.6 ms in place of 0.4.
macro_rules! one_of_many {
    ($column:expr, $values:expr) => {
        $column.eq_any(diesel::select($crate::postgres::unnest($values)))
    };
}

/// Whether two columns, given by their names, have one of some pairs of values. They are two arrays.
macro_rules! pair_of {
    ($columns:literal, $pairs:expr) => {{
        let (firsts, seconds): (Vec<_>, Vec<_>) = $pairs.into_iter().map(|(a, b)| (a, b)).unzip();
        diesel::dsl::sql::<diesel::sql_types::Bool>(concat!("(", $columns, ") IN (SELECT * FROM unnest("))
            .bind::<diesel::sql_types::Array<diesel::sql_types::Text>, _>(firsts)
            .sql(", ")
            .bind::<diesel::sql_types::Array<diesel::sql_types::Text>, _>(seconds)
            .sql("))")
    }};
}

/// Ends a condition in literal SQL: a value is none of some. They are hashed once, while `<> ALL` would compare each value with
/// each of them.
macro_rules! none_of {
    ($value:expr, $values:expr) => {
        $value
            .sql(" NOT IN (SELECT unnest(")
            .bind::<diesel::sql_types::Array<diesel::sql_types::Text>, _>($values)
            .sql("))")
    };
}

/// Where the version of a row stands that a query locks. As long as the transaction has the lock, no other one moves it.
macro_rules! place_of {
    ($table:literal) => {
        diesel::dsl::sql::<diesel::sql_types::Text>(concat!($table, ".ctid::text"))
    };
}

/// Locks the usage of each organization's latest period that began until a moment, as a [`Usage`] reads it. The organizations
/// are in the order in which they are to be locked.
macro_rules! newest_usages {
    ($organizations:expr, $until:expr) => {
        diesel::dsl::sql::<UsageRow>("SELECT u.* FROM unnest(")
            .bind::<diesel::sql_types::Array<diesel::sql_types::Text>, _>(
                $organizations.iter().copied().collect::<Vec<&str>>(),
            )
            .sql(
                ") AS o (id) CROSS JOIN LATERAL ( \
                   SELECT organization_id, period_start, period_end, used, ctid::text FROM quota_usage \
                   WHERE organization_id = o.id AND period_start <= ",
            )
            .bind::<diesel::sql_types::BigInt, _>($until)
            .sql(" ORDER BY period_start DESC LIMIT 1 FOR UPDATE) AS u")
    };
}

/// The oldest pending deliveries of each endpoint from a moment on, but of those that are left out, as a record selects them.
macro_rules! oldest_of_each {
    ($from:expr, $of_each:expr, $left_out:expr, $limit:expr) => {
        none_of!(
            diesel::dsl::sql::<PendingRow>(
                "SELECT d.created_at, d.organization_id, d.id, d.organization_id, d.id, d.endpoint_id \
                 FROM webhook_endpoints AS e CROSS JOIN LATERAL ( \
                   SELECT organization_id, id, endpoint_id, created_at FROM deliveries \
                   WHERE deliveries.state = 'pending' AND organization_id = e.organization_id AND endpoint_id = e.id \
                   AND created_at >= ",
            )
            .bind::<diesel::sql_types::BigInt, _>($from)
            .sql(" ORDER BY created_at LIMIT ")
            .bind::<diesel::sql_types::BigInt, _>($of_each)
            .sql(") AS d WHERE e.organization_id || '/' || e.id"),
            $left_out
        )
        .sql(" ORDER BY d.created_at LIMIT ")
        .bind::<diesel::sql_types::BigInt, _>($limit)
    };
}

/// The oldest pending deliveries of each of these endpoints, which have an organization, an id, and a moment from which on to
/// search.
macro_rules! oldest_of_these {
    ($endpoints:expr, $of_each:expr, $limit:expr) => {{
        let (mut organizations, mut ids, mut since) = (Vec::new(), Vec::new(), Vec::new());
        for (organization, id, moment) in $endpoints {
            organizations.push(organization);
            ids.push(id);
            since.push(moment);
        }
        diesel::dsl::sql::<PendingRow>(
            "SELECT d.created_at, d.organization_id, d.id, d.organization_id, d.id, d.endpoint_id FROM unnest(",
        )
        .bind::<diesel::sql_types::Array<diesel::sql_types::Text>, _>(organizations)
        .sql(", ")
        .bind::<diesel::sql_types::Array<diesel::sql_types::Text>, _>(ids)
        .sql(", ")
        .bind::<diesel::sql_types::Array<diesel::sql_types::BigInt>, _>(since)
        .sql(
            ") AS e (organization_id, id, since) CROSS JOIN LATERAL ( \
               SELECT organization_id, id, endpoint_id, created_at FROM deliveries \
               WHERE deliveries.state = 'pending' AND organization_id = e.organization_id AND endpoint_id = e.id \
               AND created_at >= e.since ORDER BY created_at LIMIT ",
        )
        .bind::<diesel::sql_types::BigInt, _>($of_each)
        .sql(") AS d ORDER BY d.created_at LIMIT ")
        .bind::<diesel::sql_types::BigInt, _>($limit)
    }};
}

/// Whether a column is within a dense range: between its ends, which makes it a range of an index, and one of its
/// numbers, which keeps the planner from taking it for so many rows that it had better read whole tables.
macro_rules! dense_range {
    ($column:expr, $first:expr, $last:expr) => {
        $column
            .between($first, $last)
            .and($column.eq_any(($first..=$last).collect::<Vec<i64>>()))
    };
}

/// Whether a column, given by its name, contains a text.
macro_rules! contains {
    ($column:literal, $text:expr) => {
        diesel::dsl::sql::<diesel::sql_types::Bool>(concat!("strpos(", $column, ", "))
            .bind::<diesel::sql_types::Text, _>($text)
            .sql(") > 0")
    };
}
