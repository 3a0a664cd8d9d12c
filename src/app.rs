//! The only place where the parts meet: build, run, reload, drain.

mod desk;
mod doctor;
mod outward;
mod post;
mod reload;
mod stdio;
mod submit;

use std::{
    sync::{
        Arc, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

pub use desk::ask;
pub use doctor::{CHECKS, CheckRow, Diagnosis, Line, Question, State, doctor};
use outward::Outward;
pub use post::{Post, Posted, Wish};
use reload::Reload;
pub use stdio::converse;
pub use submit::{Submitted, submit};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    config::{Loaded, Request, Settings},
    console::{self, Pages},
    delivery::{DIRECT_RECIPIENTS, Mode},
    intake::{Intake, Limits, Lint},
    log::{self, AccessLog},
    metrics::Metrics,
    operator::Socket,
    rules::Rules,
    server::{self, BindError, Certificates, Gate, Listener, Passed, TlsFault, Users},
    smtp::{Logins, Offer},
    store::StoreError,
    upstream::{SetupError, Upstream},
};

/// How often the files of rules and certificates are looked at; a file system tells of changes on some machines only, a look tells on all.
const LOOK: Duration = Duration::from_secs(2);

/// Why the gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An upstream's settings cannot work.
    #[error(transparent)]
    Upstream(#[from] SetupError),
    /// The store cannot be opened.
    #[error("store: {0}")]
    Store(StoreError),
    /// The users file cannot be read.
    #[error("users: {0}")]
    Users(#[from] server::BookError),
    /// The access log cannot be opened.
    #[error(transparent)]
    Log(#[from] log::OpenError),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsFault),
    /// An address cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The address of `[http]` cannot be listened on.
    #[error("http: cannot listen on {address}: {cause}")]
    Http {
        /// The address in the settings.
        address: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// Signals cannot be received.
    #[error("signals: {0}")]
    Signals(std::io::Error),
}

impl StartError {
    /// Whether it may start later without a change of settings: another process has the store.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Store(StoreError::Locked(_)))
    }
}

/// A gateway that is built and bound, and takes no connection yet.
pub struct App {
    settings: Settings,
    listeners: Vec<Listener>,
    http: Option<TcpListener>,
    shared: server::Shared,
    outward: Outward,
    attempts: TaskTracker,
    ready: Arc<AtomicBool>,
    control: Option<Socket>,
    signals: Signals,
    reload: Reload,
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl App {
    /// Builds everything and binds the sockets.
    ///
    /// # Errors
    /// What has to be changed before it can start.
    pub async fn build(loaded: Loaded, request: Request) -> Result<Self, StartError> {
        let Loaded { settings, rules } = loaded;
        let reload = Reload::new(request, &settings);
        let signals = Signals::receive().map_err(StartError::Signals)?;
        let metrics = Arc::new(Metrics::default());
        let counting = Arc::clone(&metrics);
        let alarm: log::Alarm = Arc::new(move |lost, cause| match lost {
            Some(line) => {
                counting.line_lost();
                tracing::error!(cause, line, "the access log cannot be written");
            }
            None => tracing::error!(cause, "the access log cannot be opened anew; the old file stays open"),
        });
        let certificates = Certificates::open(&settings.tls)?;
        let log = Arc::new(AccessLog::open(&settings.access_log, alarm)?);
        let users = users(&settings)?;
        let (mut listeners, mut passed) = (Vec::new(), Passed::from_env());
        for one in &settings.listeners {
            listeners.extend(server::bind(one, &mut passed).await?);
        }
        let http = bind_http(&settings.http.address).await?;
        let attempts = TaskTracker::new();
        let stopping = CancellationToken::new();
        let behind = outward::Shared {
            log: Arc::clone(&log),
            metrics: Arc::clone(&metrics),
            tasks: attempts.clone(),
            stopping: stopping.clone(),
        };
        let outward = Outward::build(&settings, behind).await?;
        let control = outward.control();
        let shared = server::Shared {
            intake: Arc::new(intake(&settings, rules, &outward.upstreams, log.header_fields())),
            sink: Arc::clone(&outward.sink),
            log,
            metrics,
            certificates,
            stopping,
            leaving: CancellationToken::new(),
            users,
            sessions: TaskTracker::new(),
        };
        let ready = Arc::new(AtomicBool::new(false));
        Ok(Self { settings, listeners, http, shared, outward, attempts, ready, control, signals, reload })
    }

    /// Runs until SIGTERM or SIGINT, then drains.
    pub async fn run(mut self) {
        let gate = Arc::new(Gate::new(&self.settings.limits));
        let pages = Pages { metrics: Arc::clone(&self.shared.metrics), ready: Arc::clone(&self.ready) };
        let ended = CancellationToken::new();
        if let Some(socket) = self.http.take() {
            let ended = ended.clone();
            tokio::spawn(async move {
                if let Err(error) = console::serve(socket, pages, ended).await {
                    tracing::error!(%error, "http ended");
                }
            });
        }
        self.outward.start();
        let operator = self.outward.operator(Arc::clone(&self.shared.intake), &self.settings);
        let control = self.control.take().zip(operator);
        let control = control.map(|(socket, operator)| tokio::spawn(socket.serve(operator, ended.clone())));
        let offer = offer(&self.settings, self.outward.queue.is_some());
        for listener in std::mem::take(&mut self.listeners) {
            tracing::info!(listener = listener.name(), address = listener.address(), "listening");
            let (gate, offer, shared) = (Arc::clone(&gate), offer.clone(), self.shared.clone());
            tokio::spawn(async move { listener.run(&gate, offer, shared).await });
        }
        self.ready.store(true, Ordering::Relaxed);
        self.wait_for_end().await;
        self.ready.store(false, Ordering::Relaxed);
        self.drain().await;
        ended.cancel();
        if let Some(control) = control {
            let _ = control.await;
        }
    }

    async fn wait_for_end(&mut self) {
        let mut looking = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                _ = self.signals.terminate.recv() => return,
                _ = self.signals.interrupt.recv() => return,
                _ = self.signals.hang_up.recv() => {
                    tracing::info!("SIGHUP: the access log is opened anew");
                    self.shared.log.reopen();
                    self.reload.changed();
                    self.reload.reload(&self.settings, &self.shared);
                }
                _ = looking.tick() => {
                    if self.reload.changed() {
                        self.reload.reload(&self.settings, &self.shared);
                    }
                }
            }
        }
    }

    /// No new mail; what is under way finishes; what takes longer than `drain` is told so.
    async fn drain(&self) {
        tracing::info!("draining");
        self.shared.stopping.cancel();
        self.shared.sessions.close();
        self.attempts.close();
        let finished = async {
            self.shared.sessions.wait().await;
            self.attempts.wait().await;
        };
        if timeout(self.settings.delivery.drain.0, finished).await.is_err() {
            tracing::warn!("sessions or attempts are not finished within drain; they are told to come back");
            self.shared.leaving.cancel();
            let _ = timeout(Duration::from_secs(2), self.shared.sessions.wait()).await;
        }
    }
}

impl Signals {
    fn receive() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

/// What sessions offer; without a queue a message is for as many as one call takes.
fn offer(settings: &Settings, queues: bool) -> Offer {
    let limits = &settings.limits;
    Offer {
        hostname: settings.own_name(),
        message_size: limits.message_size.0,
        recipients: if queues { limits.recipients } else { limits.recipients.min(DIRECT_RECIPIENTS) },
        errors: limits.errors,
        // Each listener knows its own.
        starttls: false,
        logins: Logins::None,
        lmtp: false,
        // A direct answer says all there is to say.
        dsn: queues && settings.delivery.mode == Mode::Queue,
        allow: Vec::new(),
        trusted: Vec::new(),
    }
}

fn intake(settings: &Settings, rules: Arc<Rules>, upstreams: &[Arc<dyn Upstream>], log_fields: Vec<String>) -> Intake {
    let lints = upstreams.iter().zip(&settings.upstreams).map(|(upstream, one)| {
        let upstream = Arc::clone(upstream);
        Lint {
            upstream: one.name.clone(),
            who: if one.is_ses() { "SES" } else { "The next server" },
            mode: one.lint,
            inspect: Arc::new(move |envelope, message| upstream.lint(envelope, message)),
        }
    });
    let limits = &settings.limits;
    Intake {
        rules: RwLock::new(rules),
        lints: lints.collect(),
        hostname: settings.own_name(),
        traced: true,
        limits: Limits {
            message_size: limits.message_size,
            header_size: limits.header_size,
            received: limits.received,
        },
        log_fields,
    }
}

fn users(settings: &Settings) -> Result<Option<Arc<Users>>, StartError> {
    let wanted = !settings.users.file.as_os_str().is_empty();
    Ok(wanted.then(|| Users::open(&settings.users)).transpose()?.map(Arc::new))
}

async fn bind_http(address: &str) -> Result<Option<TcpListener>, StartError> {
    if address.is_empty() {
        return Ok(None);
    }
    let bound = TcpListener::bind(address).await;
    bound.map(Some).map_err(|cause| StartError::Http { address: address.to_owned(), cause })
}
