//! A server of a workspace in the test's own process, served by the same functions as by the program.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use bonded_host::agent::{AgentTools, Keyring, Moment, Workplace};
use bonded_host::{CancellationToken, Host, SystemClock};
use bonded_kernel::Limits;
use bonded_serve::agents::Tokens;
use bonded_serve::operations::Operations;
use bonded_serve::workspace::configured::Configured;
use bonded_serve::workspace::data_dir::DataDir;
use bonded_serve::workspace::open_workspace::OpenWorkspace;
use bonded_serve::workspace::serving::{RuleWorkers, Serving};
use bonded_state::SqliteStore;
use bonded_telemetry::Metrics;
use bonded_testkit::clients::Clients;
use bonded_testkit::patience::PATIENCE;
use bonded_transport::Providers;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::place::Place;

pub(crate) use bonded_testkit::client::Client;
pub(crate) use bonded_testkit::clients::{code, upgraded};

/// It is stopped when it is dropped.
pub(crate) struct Server {
    clients: Clients,
    running: Running,
    pub(crate) place: Place,
}

/// The thread that everything of a server happens on, or below.
struct Running {
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Deref for Server {
    type Target = Clients;

    fn deref(&self) -> &Clients {
        &self.clients
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        let ended = self.thread.take().map(JoinHandle::join);
        // A second panic would end all tests of this process.
        if let Some(Err(_)) = ended
            && !thread::panicking()
        {
            panic!("the server panicked");
        }
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_in(Place::new())
    }

    /// Serves the directory `data` of a place.
    pub(crate) fn start_in(place: Place) -> Self {
        let (told, listening) = channel();
        let stop = CancellationToken::new();
        let (data, stopped) = (place.path("data"), stop.clone());
        let thread = thread::spawn(move || {
            let runtime = Runtime::new().expect("a runtime can be made");
            let (dir, _made) = DataDir::make(&data, None).expect("the directory can be made");
            runtime.block_on(serve(dir, told, stopped));
        });
        let running = Running {
            stop,
            thread: Some(thread),
        };
        let address = listening.recv_timeout(PATIENCE).expect("the server begins");
        Self {
            clients: Clients::of(&place, address),
            running,
            place,
        }
    }

    /// A server with this in its configuration.
    pub(crate) fn with_config(config: &Value) -> Self {
        Self::start_in(Place::with_config(config))
    }

    /// Ends the server, and gives its place for another one.
    pub(crate) fn stop(self) -> Place {
        drop(self.running);
        self.place
    }
}

/// Serves a directory on a port that the system chooses, and tells which.
/// Nothing of the tester's variables is seen.
async fn serve(dir: DataDir, told: Sender<String>, stop: CancellationToken) {
    let configured = Configured::read(&dir, []).expect("the configuration can be read");
    let opened = OpenWorkspace::open(dir, configured).await;
    let opened = opened.expect("the directory can be served");
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    let workers = workers(&opened);
    let serving = Serving::begin(opened, workers, stop.clone());
    told.send(address.to_string()).expect("the test waits");
    let operations = Operations {
        metrics: Arc::new(Metrics::new("test")),
        tokens: Tokens::default(),
    };
    serving
        .serve_alone(listener, operations, PATIENCE, stop)
        .await;
}

/// A host for the rules, without what only a process has: its sandbox, its logins, its program.
fn workers(opened: &OpenWorkspace) -> RuleWorkers {
    let environment = opened.configured.variables.clone();
    let workplace = Workplace {
        dir: opened.dir.path().to_owned(),
        ..Workplace::bare(environment.clone())
    };
    let tools = AgentTools::new(environment.clone(), Some(workplace.clone()));
    let tools = Arc::new(tools);
    let keyring = Keyring::new(environment.clone());
    let store = SqliteStore::open(&opened.dir.runs_file());
    let host = Host {
        store: Arc::new(store.expect("a store can be made")),
        transport: Arc::new(Providers::new(move |target| keyring.credentials(target))),
        tools: tools.clone(),
        clock: Arc::new(SystemClock::new()),
        children: None,
        secrets: environment.secrets().clone(),
        live: None,
        watch: None,
        interrupt: CancellationToken::new(),
        drain: CancellationToken::new(),
    };
    RuleWorkers {
        host,
        tools,
        workplace,
        limits: Limits::default(),
        moment: Moment::default,
        work: None,
        queueing: None,
    }
}
