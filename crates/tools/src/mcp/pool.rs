//! The servers of a process. Each is started at most once, and all of them are ended.
//!
//! A shared server is started by the first run that wants it and serves all others; one that is not shared is
//! leased to a single run. Several runs may ask for the same server at once: one starts it, and the others wait
//! for that start. A start that failed may be tried again, also with other settings; a server that runs keeps
//! the settings that it was started with.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, join_all, try_join_all};
use tokio::sync::{OnceCell, Semaphore};

use super::error::McpError;
use super::news::{McpNews, OnNews};
use super::pin::Pinned;
use super::settings::McpServer;
use super::tool::{Lease, McpTool};
use super::upkeep::Upkeep;
use crate::queue::{Queue, Queues};
use crate::tool::Tool;

/// The running servers. `start` gives their tools, to many runs if need be; `stop` ends them. Dropping the
/// pool ends them too, without waiting; the tools fail from then on.
pub struct McpServers {
    tell: Option<OnNews>,
    queues: Arc<Queues>,
    starting: Semaphore,
    state: Mutex<PoolState>,
}

/// Changed only under its lock, which is never held across an await.
#[derive(Default)]
struct PoolState {
    slots: BTreeMap<String, Arc<ServerSlot>>,
    /// Servers that only one run uses each.
    leased: Vec<Arc<Upkeep>>,
    /// For good: a server that is asked for afterwards is refused, so that none is born while others are waited
    /// for.
    is_stopped: bool,
}

/// A server that is being started, or was.
struct ServerSlot {
    upkeep: Arc<Upkeep>,
    /// Still empty when a start failed, so that the next one who comes tries it.
    is_up: OnceCell<()>,
}

impl ServerSlot {
    /// Whether the server did not start, and nobody is starting it. Its settings may change then.
    fn is_idle(self: &Arc<Self>) -> bool {
        self.is_up.get().is_none() && Arc::strong_count(self) == 1
    }
}

/// The tools of servers, and what a person should know about those that are not among them.
#[derive(Clone, Default)]
pub struct McpTools {
    /// Those of all servers that run, in the order of the servers.
    pub tools: Vec<Arc<dyn Tool>>,
    /// One sentence each, without the word warning.
    pub warnings: Vec<String>,
}

impl McpServers {
    /// At most `starts_max` servers are started at the same time.
    pub fn new(queues: Arc<Queues>, starts_max: usize) -> Self {
        Self {
            tell: None,
            queues,
            starting: Semaphore::new(starts_max.clamp(1, Semaphore::MAX_PERMITS)),
            state: Mutex::default(),
        }
    }

    /// Tells what a person may want to know while the servers are used.
    #[must_use]
    pub fn telling(mut self, tell: OnNews) -> Self {
        self.tell = Some(tell);
        self
    }

    /// Starts the servers that do not run yet, and gives the tools of them all. A server that is not
    /// required and cannot be started is a warning.
    ///
    /// Boxed here, because what an async function does is compiled by whoever awaits it, at their level of
    /// optimisation.
    pub fn start<'a>(
        &'a self,
        servers: &'a [McpServer],
    ) -> BoxFuture<'a, Result<McpTools, McpError>> {
        Box::pin(self.start_all(servers))
    }

    async fn start_all(&self, servers: &[McpServer]) -> Result<McpTools, McpError> {
        let started = servers.iter().map(|server| self.start_or_leave_out(server));
        // The first that fails is told at once, whatever the others take.
        let started = try_join_all(started).await?;
        let mut all = McpTools::default();
        for McpTools { tools, warnings } in started {
            all.tools.extend(tools);
            all.warnings.extend(warnings);
        }
        refuse_same_names(&all.tools)?;
        Ok(all)
    }

    /// What need not start and does not is a warning, told when that is known.
    async fn start_or_leave_out(&self, server: &McpServer) -> Result<McpTools, McpError> {
        let error = match self.start_with_news(server).await {
            Err(error) if !server.required => error,
            started => return started,
        };
        let warning = format!("{error}; it is left out");
        let warnings = match &self.tell {
            Some(tell) => {
                tell(McpNews::Warning(&warning));
                vec![]
            }
            None => vec![warning],
        };
        Ok(McpTools {
            warnings,
            ..McpTools::default()
        })
    }

    /// Who watches is told whom a run waits for.
    async fn start_with_news(&self, server: &McpServer) -> Result<McpTools, McpError> {
        let tell = |news| {
            if let Some(tell) = &self.tell {
                tell(news);
            }
        };
        let name = &*server.name;
        tell(McpNews::Starting { server: name });
        let started = self.start_one(server).await;
        tell(McpNews::Started { server: name });
        started
    }

    /// The queue is looked for before anything is started: a name that is none is a mistake in the settings.
    async fn start_one(&self, server: &McpServer) -> Result<McpTools, McpError> {
        server.check()?;
        let queue = self.queues.get(server.queue.as_deref());
        let queue = queue.map_err(|source| McpError::Queue {
            server: server.name.clone(),
            source,
        })?;
        if !server.shared {
            return self.start_leased(server, &queue).await;
        }
        let slot = self.slot(server)?;
        let starting = slot.is_up.get_or_try_init(async || {
            let _place = self.starting.acquire().await.expect("it is never closed");
            Box::pin(slot.upkeep.open()).await
        });
        if let Err(error) = starting.await {
            slot.upkeep.let_fall();
            slot.upkeep.ended().await;
            return Err(error);
        }
        // Whoever comes later gets what the server offers by then.
        slot.upkeep.look_again().await;
        Ok(tools_of(&slot.upkeep, &queue, None))
    }

    /// Starts a server for one run alone. It ends when its last tool is dropped.
    async fn start_leased(
        &self,
        server: &McpServer,
        queue: &Arc<Queue>,
    ) -> Result<McpTools, McpError> {
        let upkeep = Arc::new(Upkeep::new(server.clone(), self.tell.clone()));
        let lease = Arc::new(Lease(Arc::clone(&upkeep)));
        {
            let mut state = self.lock();
            if state.is_stopped {
                return Err(McpError::Stopped);
            }
            state.leased.retain(|upkeep| !upkeep.is_over());
            state.leased.push(Arc::clone(&upkeep));
        }
        let started = {
            let _place = self.starting.acquire().await.expect("it is never closed");
            Box::pin(upkeep.open()).await
        };
        if let Err(error) = started {
            upkeep.stop();
            upkeep.ended().await;
            return Err(error);
        }
        Ok(tools_of(&upkeep, queue, Some(&lease)))
    }

    /// Two servers of one name with different settings cannot both run, since tools are called by that name.
    fn slot(&self, server: &McpServer) -> Result<Arc<ServerSlot>, McpError> {
        let mut state = self.lock();
        if state.is_stopped {
            return Err(McpError::Stopped);
        }
        match state.slots.get(&server.name) {
            Some(slot) if slot.upkeep.server() == server => return Ok(Arc::clone(slot)),
            Some(slot) if !slot.is_idle() => {
                let server = server.name.clone();
                return Err(McpError::OtherSettings { server });
            }
            _ => {}
        }
        let upkeep = Upkeep::new(server.clone(), self.tell.clone());
        let slot = Arc::new(ServerSlot {
            upkeep: Arc::new(upkeep),
            is_up: OnceCell::new(),
        });
        state.slots.insert(server.name.clone(), Arc::clone(&slot));
        Ok(slot)
    }

    /// Ends every server and waits until none of their processes is left.
    pub fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            join_all(self.stop_all().iter().map(|upkeep| upkeep.ended())).await;
        })
    }

    /// Asks all of them to end at once, and leaves the waiting to the caller.
    fn stop_all(&self) -> Vec<Arc<Upkeep>> {
        let mut state = self.lock();
        state.is_stopped = true;
        let shared = state.slots.values().map(|slot| Arc::clone(&slot.upkeep));
        let upkeeps: Vec<_> = shared.chain(state.leased.iter().cloned()).collect();
        upkeeps.iter().for_each(|upkeep| upkeep.stop());
        upkeeps
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        // Every change is whole by itself.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for McpServers {
    fn drop(&mut self) {
        self.stop_all();
    }
}

/// The tools of a server that is up.
fn tools_of(upkeep: &Arc<Upkeep>, queue: &Arc<Queue>, lease: Option<&Arc<Lease>>) -> McpTools {
    let offers = upkeep.offers();
    let tools = Pinned::all_of(&offers).map(|pinned| {
        let (upkeep, queue) = (Arc::clone(upkeep), Arc::clone(queue));
        let tool = McpTool::new(upkeep, queue, pinned, lease.cloned());
        Arc::new(tool) as Arc<dyn Tool>
    });
    McpTools {
        tools: tools.collect(),
        warnings: offers.warnings.clone(),
    }
}

/// The names of one server's tools differ; those of two servers may still be the same.
fn refuse_same_names(tools: &[Arc<dyn Tool>]) -> Result<(), McpError> {
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(McpError::SameName {
            name: pair[0].into(),
            first: "one of a server".into(),
            second: "one of another server".into(),
        }),
    }
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lock().slots.keys()).finish()
    }
}

impl fmt::Debug for McpTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.tools.iter().map(|tool| &tool.spec().name);
        f.debug_struct("McpTools")
            .field("tools", &names.collect::<Vec<_>>())
            .field("warnings", &self.warnings)
            .finish()
    }
}
