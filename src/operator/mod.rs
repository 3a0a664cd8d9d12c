//! What an operator does with the queue and sees of the upstreams.
//!
//! A [`Request`] goes in, [`Answer`]s come out, the last of them [`Answer::End`]. The control socket of a running gateway
//! and a command on a store that no gateway has both ask the same [`Operator`]. It works on the store; a queue that runs
//! is only told to look again. However many messages an order is about, a page of them lies in memory, and one body.

mod answer;
mod ask;
mod call;
mod letters;
mod line;
mod renew;
mod socket;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use tokio::sync::mpsc;

use crate::{
    delivery::{Queue, Router},
    intake::Intake,
    mail::{Id, Size},
    store::{Filter, Order, Ordered, State, Store, StoreError, Summary},
};

pub use answer::{Account, Answer, Attempt, Deed, Done, Fault, FaultKind, Recipient, Row, Sheet};
pub use ask::{Letter, Query, Request, Which};
pub use call::call;
pub use line::{decoded, encoded};
pub use socket::{Socket, path_of};

/// Messages of one page.
const PAGE: usize = 500;
/// Orders that the store gets at once, so that one commit does for many.
const AT_ONCE: usize = 64;
/// Answers that wait for whoever asked.
const WAITING: usize = 64;
/// The states that a list shows when nobody says.
const UNFINISHED: &[State] = &[State::Queued, State::Leased, State::Held];

/// Does what an operator asks for.
pub struct Operator {
    /// Keeps the messages.
    pub store: Arc<dyn Store>,
    /// The queue that runs on the store, if one does.
    pub queue: Option<Queue>,
    /// The upstreams, where a gateway runs.
    pub router: Option<Arc<Router>>,
    /// The rules, for requests that need them.
    pub doors: Option<Doors>,
    /// Octets of a message that is taken in.
    pub message_size: Size,
}

/// The doors that mail passes once more.
#[derive(Clone)]
pub struct Doors {
    /// For mail.
    pub mail: Arc<Intake>,
    /// For reports, which no rule of a site can lose.
    pub reports: Arc<Intake>,
}

/// Why a request ends early.
enum Stop {
    /// Nobody listens any more.
    Gone,
    /// It cannot be fulfilled.
    Fault(Fault),
}

impl<E: Into<Fault>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

type Told = Result<(), Stop>;

/// The way to whoever asked.
struct Teller(mpsc::Sender<Answer>);

impl Teller {
    async fn tell(&self, answer: Answer) -> Told {
        self.0.send(answer).await.map_err(|_| Stop::Gone)
    }
}

/// What is done to each message.
#[derive(Clone)]
enum Verb {
    Retry,
    Renew,
    Hold(String),
    Release,
    Delete,
    Export,
}

impl Verb {
    /// The states that it is for, where the operator names none. Of what is active, an operator who stops mail has to
    /// know.
    fn states(&self) -> &'static [State] {
        match self {
            Self::Retry | Self::Renew => &[State::Queued],
            Self::Release => &[State::Held],
            Self::Hold(_) => &[State::Queued, State::Leased],
            Self::Delete | Self::Export => UNFINISHED,
        }
    }
}

impl Operator {
    /// Does what is asked, in a task of its own that ends when nobody listens any more. The octets are those of a
    /// message to import.
    pub fn ask(self: &Arc<Self>, request: Request, octets: Bytes) -> mpsc::Receiver<Answer> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let operator = Arc::clone(self);
        tokio::spawn(async move {
            let out = Teller(sender);
            let end = match operator.perform(request, octets, &out).await {
                Ok(()) => None,
                Err(Stop::Fault(fault)) => Some(fault),
                Err(Stop::Gone) => return,
            };
            let _ = out.tell(Answer::End(end)).await;
        });
        receiver
    }

    async fn perform(self: &Arc<Self>, request: Request, octets: Bytes, out: &Teller) -> Told {
        match request {
            Request::List { query, limit } => self.list(&query, limit, out).await,
            Request::Show { id } => self.show(id, out).await,
            Request::Retry { which, rules: false } => self.each(which, &Verb::Retry, out).await,
            Request::Retry { which, rules: true } => self.each(which, &Verb::Renew, out).await,
            Request::Hold { which, reason } => self.each(which, &Verb::Hold(reason), out).await,
            Request::Release { which } => self.each(which, &Verb::Release, out).await,
            Request::Delete { which } => self.each(which, &Verb::Delete, out).await,
            Request::Export { which } => self.each(which, &Verb::Export, out).await,
            Request::Import(letter) => {
                let deed = self.import(letter, octets).await?;
                out.tell(Answer::Deed(deed)).await
            }
            Request::Upstreams => self.upstreams(out).await,
        }
    }

    async fn upstreams(&self, out: &Teller) -> Told {
        let Some(router) = &self.router else {
            return Err(Fault::new(FaultKind::Unavailable, "no gateway runs: nobody looks after the upstreams").into());
        };
        for way in router.ways() {
            out.tell(Answer::Upstream(way.condition())).await?;
        }
        Ok(())
    }

    async fn list(&self, query: &Query, limit: Option<usize>, out: &Teller) -> Told {
        let mut filter = query.filter(UNFINISHED);
        let mut left = limit.unwrap_or(usize::MAX);
        while left > 0 {
            let page = self.page(&mut filter, left).await?;
            if page.is_empty() {
                break;
            }
            left = left.saturating_sub(page.len());
            for one in page {
                out.tell(Answer::Message(one.into())).await?;
            }
        }
        Ok(())
    }

    /// The next messages of a filter, which then stands behind them.
    async fn page(&self, filter: &mut Filter, most: usize) -> Result<Vec<Summary>, StoreError> {
        filter.count = most.min(PAGE);
        let page = self.store.list(filter.clone()).await?;
        if let Some(last) = page.last() {
            filter.behind = Some(last.id);
        }
        Ok(page)
    }

    async fn show(&self, id: Id, out: &Teller) -> Told {
        let answer = match self.store.show(id).await? {
            Some(account) => Answer::Account(Box::new(account.into())),
            None => Answer::Deed(unknown(id)),
        };
        out.tell(answer).await
    }

    async fn each(self: &Arc<Self>, which: Which, verb: &Verb, out: &Teller) -> Told {
        let mut filter = match which {
            Which::Ids(ids) => return self.page_of(ids, verb, out).await,
            Which::All(query) => query.filter(verb.states()),
        };
        loop {
            let page = self.page(&mut filter, PAGE).await?;
            if page.is_empty() {
                return Ok(());
            }
            self.page_of(page.iter().map(|one| one.id).collect(), verb, out).await?;
        }
    }

    async fn page_of(self: &Arc<Self>, ids: Vec<Id>, verb: &Verb, out: &Teller) -> Told {
        // A body each would be too much at once.
        let at_once = if matches!(verb, Verb::Renew | Verb::Export) { 1 } else { AT_ONCE };
        let mut result = Ok(());
        for few in ids.chunks(at_once) {
            result = self.few(few, verb, out).await;
            if result.is_err() {
                break;
            }
        }
        if let Some(queue) = self.queue.as_ref().filter(|_| !matches!(verb, Verb::Export | Verb::Delete)) {
            queue.wake();
        }
        result
    }

    async fn few(self: &Arc<Self>, ids: &[Id], verb: &Verb, out: &Teller) -> Told {
        if let (Verb::Export, [id]) = (verb, ids) {
            return self.export(*id, out).await;
        }
        let orders = ids.iter().map(|id| {
            let (operator, id, verb) = (Arc::clone(self), *id, verb.clone());
            tokio::spawn(async move { operator.order(id, &verb).await })
        });
        for order in orders.collect::<Vec<_>>() {
            let done = order.await.map_err(|error| Fault::new(FaultKind::Unavailable, error.to_string()))?;
            out.tell(Answer::Deed(done?)).await?;
        }
        Ok(())
    }

    async fn order(&self, id: Id, verb: &Verb) -> Result<Deed, Stop> {
        let now = Timestamp::now();
        let (order, done) = match verb {
            Verb::Retry => (Order::Retry(now), "due now"),
            Verb::Release => (Order::Release(now), "released, due now"),
            Verb::Hold(reason) => (Order::Hold(reason.clone()), "held"),
            Verb::Delete => (Order::Delete(now), "deleted"),
            Verb::Renew | Verb::Export => return self.renew(id).await,
        };
        let ordered = self.store.order(id, order).await?;
        Ok(deed(id, ordered, done))
    }
}

fn unknown(id: Id) -> Deed {
    deed(id, Ordered::Unknown, "")
}

/// What became of an order, in words.
fn deed(id: Id, ordered: Ordered, done: &str) -> Deed {
    let (result, text) = match ordered {
        Ordered::Done => (Done::Done, done),
        Ordered::Unknown => (Done::Unknown, "there is no such message"),
        Ordered::Leased | Ordered::Changed => (Done::Active, "it is being delivered just now; try again"),
        Ordered::Finished => (Done::Unfit, "it is finished"),
        Ordered::Queued => (Done::Unfit, "it is not held"),
        Ordered::Held => (Done::Unfit, "it is held; release it first"),
    };
    if result == Done::Done {
        tracing::info!(%id, "by an operator: {text}");
    }
    Deed { id, result, text: text.to_owned() }
}
