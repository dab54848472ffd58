//! Measures appends: `append_load ADDRESS RUNS SECONDS` has so many runs append, each one step after the other, to the store
//! at the address, and prints the steps and the processor time of this process for each. `bare` in place of the address of a
//! store (`append_load bare ADDRESS RUNS SECONDS`) inserts rows of the same size with a pool of as many connections, and checks
//! nothing.

#![expect(clippy::print_stdout, reason = "what it measures is what it is for")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bonded_postgres::{Address, PostgresStore};
use bonded_testkit::stores::logs::Log;
use rustix::time::{ClockId, clock_gettime};
use tokio_postgres::NoTls;

/// As many as the store has.
const CONNECTIONS: usize = 8;

/// An append of three entries takes about so much.
const ROW_BYTES: usize = 900;

/// No run gets further in the time that is measured.
const TURNS: u32 = 2000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (is_bare, address, runs, seconds) = match words.as_slice() {
        ["bare", address, runs, seconds] => (true, *address, *runs, *seconds),
        [address, runs, seconds] => (false, *address, *runs, *seconds),
        _ => return Err("append_load [bare] ADDRESS RUNS SECONDS".into()),
    };
    let (runs, seconds): (usize, u64) = (runs.parse()?, seconds.parse()?);
    let length = Duration::from_secs(seconds);
    let (steps, cpu, took) = match is_bare {
        true => bare(address, runs, length).await?,
        false => store(address, runs, length).await?,
    };
    let each = |time: Duration| time.as_secs_f64() * 1e6 / steps.max(1) as f64;
    println!(
        "{{\"runs\": {runs}, \"steps\": {steps}, \"steps_per_s\": {:.0}, \"client_cpu_us\": {:.1}}}",
        steps as f64 / took.as_secs_f64(),
        each(cpu)
    );
    Ok(())
}

fn cpu() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::from_secs(used.tv_sec.unsigned_abs())
        + Duration::from_nanos(used.tv_nsec.unsigned_abs())
}

type Measured = Result<(u64, Duration, Duration), Box<dyn std::error::Error>>;

async fn store(address: &str, runs: usize, length: Duration) -> Measured {
    let store = PostgresStore::open(Address::read(address, None)?, "beside".into())?;
    let store = Arc::new(store);
    let id = std::process::id();
    let logs: Vec<Log> = (0..runs)
        .map(|run| Log::with_turns(&format!("load-{id}-{run}"), TURNS))
        .collect();
    for log in &logs {
        log.append(&*store, 0).await?;
    }
    let steps = Arc::new(AtomicU64::new(0));
    let (began, before) = (Instant::now(), cpu());
    let mut driving = tokio::task::JoinSet::new();
    for log in logs {
        let (store, steps) = (Arc::clone(&store), Arc::clone(&steps));
        driving.spawn(async move {
            for step in 1..log.steps.len() {
                if began.elapsed() > length {
                    break;
                }
                log.append(&*store, step).await.expect("it appends");
                steps.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    driving.join_all().await;
    Ok((
        steps.load(Ordering::Relaxed),
        cpu() - before,
        began.elapsed(),
    ))
}

async fn bare(address: &str, runs: usize, length: Duration) -> Measured {
    let mut clients = vec![];
    for _ in 0..CONNECTIONS.min(runs) {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
        tokio::spawn(connection);
        let table = "CREATE TABLE IF NOT EXISTS public.bare (run int, step int, body bytea, PRIMARY KEY (run, step))";
        if clients.is_empty() {
            client.batch_execute(table).await?;
            client.batch_execute("TRUNCATE public.bare").await?;
        }
        let insert = client
            .prepare("INSERT INTO public.bare VALUES ($1, $2, $3)")
            .await?;
        clients.push(Arc::new((tokio::sync::Mutex::new(()), client, insert)));
    }
    let steps = Arc::new(AtomicU64::new(0));
    let (began, before) = (Instant::now(), cpu());
    let mut driving = tokio::task::JoinSet::new();
    for run in 0..runs {
        let connection = Arc::clone(&clients[run % clients.len()]);
        let steps = Arc::clone(&steps);
        driving.spawn(async move {
            let body = vec![7_u8; ROW_BYTES];
            for step in 0.. {
                if began.elapsed() > length {
                    break;
                }
                let (free, client, insert) = &*connection;
                let _free = free.lock().await;
                let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
                    [&(run as i32), &step, &body];
                client.execute(insert, &values).await.expect("it inserts");
                steps.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    driving.join_all().await;
    Ok((
        steps.load(Ordering::Relaxed),
        cpu() - before,
        began.elapsed(),
    ))
}
