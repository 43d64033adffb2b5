//! The parts of statements that each database has words of its own for: SQLite's. The statements are in `queries`.

/// Nothing to do: the one writer holds the lock of the whole database.
macro_rules! for_update {
    ($query:expr) => {
        $query
    };
}

/// Nothing to do: the one writer holds the lock of the whole database.
macro_rules! for_no_key_update {
    ($query:expr) => {
        $query
    };
}

/// Nothing to do: the one writer holds the lock of the whole database.
macro_rules! for_key_share {
    ($query:expr) => {
        $query
    };
}

/// Nothing to do: the one writer holds the lock of the whole database.
macro_rules! for_share {
    ($query:expr) => {
        $query
    };
}

/// Nothing to do: the one writer has every turn.
macro_rules! take_turn {
    ($conn:expr, $turn:expr) => {{
        let _: (&mut Conn, String) = ($conn, $turn);
        std::future::ready(()).await
    }};
}

/// Loads what statements find, one after the other.
macro_rules! load_together {
    ($conn:expr, $($statement:expr),+ $(,)?) => {{
        let conn: &mut Conn = $conn;
        async { Ok::<_, diesel::result::Error>(($($statement.load(conn).await?,)+)) }.await
    }};
}

/// Frees the pages of the file that the connection keeps in memory. The system keeps them, too.
macro_rules! give_pages_back {
    ($conn:expr) => {
        diesel::connection::SimpleConnection::batch_execute($conn, "PRAGMA shrink_memory")?
    };
}

/// Whether a column has one of some values. They are one text.
macro_rules! one_of {
    ($column:expr, $values:expr) => {
        $crate::sqlite::one_of::OneOf::new($column, $values)
    };
}

/// As `one_of!`: it makes no difference here.
macro_rules! one_of_many {
    ($column:expr, $values:expr) => {
        one_of!($column, $values)
    };
}

/// Whether two columns, given by their names, have one of some pairs of values. They are one text.
macro_rules! pair_of {
    ($columns:literal, $pairs:expr) => {{
        let pairs: Vec<_> = $pairs.into_iter().collect();
        let pairs = $crate::sqlite::one_of::as_json(&pairs);
        diesel::dsl::sql::<diesel::sql_types::Bool>(concat!(
            "(",
            $columns,
            ") IN (SELECT value ->> 0, value ->> 1 FROM json_each("
        ))
        .bind::<diesel::sql_types::Text, _>(pairs)
        .sql("))")
    }};
}

/// Ends a condition in literal SQL: a value is none of some.
macro_rules! none_of {
    ($value:expr, $values:expr) => {
        $value
            .sql(" NOT IN (SELECT value FROM json_each(")
            .bind::<diesel::sql_types::Text, _>($crate::sqlite::one_of::as_json($values))
            .sql("))")
    };
}

/// Nothing: there is one version of a row.
macro_rules! place_of {
    ($table:literal) => {
        diesel::dsl::sql::<diesel::sql_types::Text>("''")
    };
}

/// The usage of each organization's latest period that began until a moment, as a [`Usage`] reads it.
macro_rules! newest_usages {
    ($organizations:expr, $until:expr) => {
        diesel::dsl::sql::<UsageRow>(
            "SELECT organization_id, period_start, period_end, used, '' FROM quota_usage AS u \
             WHERE organization_id IN (SELECT value FROM json_each(",
        )
        .bind::<diesel::sql_types::Text, _>($crate::sqlite::one_of::as_json($organizations))
        .sql(
            ")) AND period_start = (SELECT max(period_start) FROM quota_usage \
                                   WHERE organization_id = u.organization_id AND period_start <= ",
        )
        .bind::<diesel::sql_types::BigInt, _>($until)
        .sql(")")
    };
}

/// The oldest pending deliveries of each endpoint from a moment on, but of those that are left out, as a record selects them.
macro_rules! oldest_of_each {
    ($from:expr, $of_each:expr, $left_out:expr, $limit:expr) => {
        diesel::dsl::sql::<PendingRow>(
            "SELECT d.created_at, d.organization_id, d.id, d.organization_id, d.id, d.endpoint_id \
             FROM webhook_endpoints AS e CROSS JOIN deliveries AS d ON d.rowid IN ( \
               SELECT rowid FROM deliveries \
               WHERE deliveries.state = 'pending' AND organization_id = e.organization_id AND endpoint_id = e.id \
               AND created_at >= ",
        )
        .bind::<diesel::sql_types::BigInt, _>($from)
        .sql(" ORDER BY created_at LIMIT ")
        .bind::<diesel::sql_types::BigInt, _>($of_each)
        .sql(") WHERE (e.organization_id || '/' || e.id) NOT IN (SELECT value FROM json_each(")
        .bind::<diesel::sql_types::Text, _>($crate::sqlite::one_of::as_json(&$left_out))
        .sql(")) ORDER BY d.created_at LIMIT ")
        .bind::<diesel::sql_types::BigInt, _>($limit)
    };
}

/// The oldest pending deliveries of each of these endpoints, which have an organization, an id, and a moment from which on to
/// search.
macro_rules! oldest_of_these {
    ($endpoints:expr, $of_each:expr, $limit:expr) => {
        diesel::dsl::sql::<PendingRow>(
            "SELECT d.created_at, d.organization_id, d.id, d.organization_id, d.id, d.endpoint_id FROM json_each(",
        )
        .bind::<diesel::sql_types::Text, _>($crate::sqlite::one_of::as_json(&$endpoints))
        .sql(
            ") AS e CROSS JOIN deliveries AS d ON d.rowid IN ( \
               SELECT rowid FROM deliveries WHERE deliveries.state = 'pending' \
               AND organization_id = e.value ->> 0 AND endpoint_id = e.value ->> 1 AND created_at >= e.value ->> 2 \
               ORDER BY created_at LIMIT ",
        )
        .bind::<diesel::sql_types::BigInt, _>($of_each)
        .sql(") ORDER BY d.created_at LIMIT ")
        .bind::<diesel::sql_types::BigInt, _>($limit)
    };
}

/// Whether a column is within a dense range.
macro_rules! dense_range {
    ($column:expr, $first:expr, $last:expr) => {
        $column.between($first, $last)
    };
}

/// Whether a column, given by its name, contains a text.
macro_rules! contains {
    ($column:literal, $text:expr) => {
        diesel::dsl::sql::<diesel::sql_types::Bool>(concat!("instr(", $column, ", "))
            .bind::<diesel::sql_types::Text, _>($text)
            .sql(") > 0")
    };
}
