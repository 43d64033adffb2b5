//! `bidloop filters test|explain`: a saved filter against job posts, without changing anything.

use std::io::BufRead;
use std::path::Path;

use bidloop_domain::matching::{Explanation, PreparedJob, SavedFilter};
use bidloop_domain::model::{FilterFile, JobPost, sanitize_for_log};
use serde_json::json;

use super::{Failure, Outcome, database, input, output};
use crate::cli::FiltersCommand;
use crate::service::Stores;
use crate::settings::Settings;

/// Stored jobs that are read in one query.
const READ_AT_ONCE: u32 = 500;

pub(super) async fn run(settings: &Settings, command: FiltersCommand) -> Outcome {
    match command {
        FiltersCommand::Test { filter, jobs, json } => {
            let filter = read_filter(&filter)?;
            let tested = match jobs {
                Some(file) => test_file(&filter, &file)?,
                None => test_stored(&filter, settings).await?,
            };
            print_test(&tested, json)
        }
        FiltersCommand::Explain { filter, job, json } => {
            let filter = read_filter(&filter)?;
            let post = input::job_post(&input::text(&job)?, job.display()).map_err(Failure::Failed)?;
            print_explanation(&filter.explain(&PreparedJob::new(&post.facts())), json)
        }
    }
}

#[derive(Default)]
struct Tested {
    jobs: u64,
    ids: Vec<String>,
}

impl Tested {
    fn add(&mut self, filter: &SavedFilter, post: &JobPost) {
        self.jobs += 1;
        if filter.matches(&PreparedJob::new(&post.facts())) {
            self.ids.push(post.id.to_string());
        }
    }
}

fn test_file(filter: &SavedFilter, file: &Path) -> Result<Tested, Failure> {
    let place = file.display();
    let cannot_read = |error: std::io::Error| Failure::failed(format!("{place}: cannot be read: {error}"));
    let reader = std::io::BufReader::new(std::fs::File::open(file).map_err(cannot_read)?);
    let (mut tested, mut faults) = (Tested::default(), Vec::new());
    for (number, line) in (1..).zip(reader.lines()) {
        let line = line.map_err(cannot_read)?;
        if line.trim().is_empty() {
            continue;
        }
        match input::job_post(&line, format_args!("{place}, line {number}")) {
            Ok(post) => tested.add(filter, &post),
            Err(lines) => faults.extend(lines),
        }
    }
    if faults.is_empty() {
        Ok(tested)
    } else {
        Err(Failure::Failed(faults))
    }
}

/// Tests the stored jobs, in the order of storing.
async fn test_stored(filter: &SavedFilter, settings: &Settings) -> Result<Tested, Failure> {
    let database = database::open_current(settings).await?;
    let matches = Stores::of(&database).matches;
    let watermark = matches.due_backfills().await?.watermark;
    let (mut tested, mut before) = (Tested::default(), None);
    loop {
        let jobs = matches.stored_jobs(watermark, before, READ_AT_ONCE).await?;
        let Some(last) = jobs.last() else { break };
        before = Some(last.seq);
        for job in &jobs {
            let post = JobPost::parse(&job.json)
                .map_err(|fault| Failure::failed(format!("stored job {}: {fault}", job.id)))?;
            tested.add(filter, &post);
        }
    }
    tested.ids.reverse();
    Ok(tested)
}

fn print_test(tested: &Tested, as_json: bool) -> Outcome {
    if as_json {
        return output::json(&json!({ "jobs": tested.jobs, "matched": tested.ids.len(), "ids": tested.ids }));
    }
    output::line(&format!("{} of {} jobs match.", tested.ids.len(), tested.jobs))?;
    tested.ids.iter().try_for_each(|id| output::line(id))
}

fn print_explanation(explanation: &Explanation, as_json: bool) -> Outcome {
    if as_json {
        let conditions: Vec<_> = explanation
            .conditions
            .iter()
            .map(|c| json!({ "condition": c.path, "result": c.result.as_str(), "detail": c.detail }))
            .collect();
        return output::json(&json!({ "matches": explanation.matches, "conditions": conditions }));
    }
    output::line(if explanation.matches {
        "The filter matches the job."
    } else {
        "The filter does not match the job."
    })?;
    explanation.conditions.iter().try_for_each(|c| {
        let line = format!("{:8} {}: {}", c.result.as_str(), c.path, c.detail);
        output::line(&sanitize_for_log(&line, usize::MAX))
    })
}

fn read_filter(file: &Path) -> Result<SavedFilter, Failure> {
    let parsed = FilterFile::parse(&input::text(file)?).map(|parsed| parsed.filter);
    parsed.map_err(|faults| {
        let lines = faults.iter().map(|fault| format!("{}: {fault}", file.display()));
        Failure::Failed(lines.collect())
    })
}
