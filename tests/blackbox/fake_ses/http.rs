//! The HTTP side. Enters: a listening socket; leave: answers on the wire and calls in the record.
//! It decides nothing: what to answer comes from the plan, what SES refuses from `law`.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::answer::{Answer, Claim, Refusal};
use super::call::{Call, Fate};
use super::identities;
use super::law::Law;
use super::request::{self, Credential};
use super::{Setup, Shared, account, locked};

const SEND: &str = "/v2/email/outbound-emails";
const ACCOUNT: &str = "/v2/email/account";
const IDENTITIES: &str = "/v2/email/identities";
const LIST: &str = "/v2/email/list-identities";
/// Room for a message well over SES's limit, in base64: that it is too long must be `law`'s finding.
const BODY: usize = 96 * 1024 * 1024;

type Answered = Response<Full<Bytes>>;

/// The connection is to close without an answer; hyper does so when a service fails.
#[derive(Debug)]
struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut as wished")
    }
}

impl std::error::Error for Cut {}

/// Serves until the other half of `stopped` is dropped; every connection closes with it.
#[allow(clippy::expect_used)] // Without a runtime there is no test to go on with.
pub(super) fn run(listener: std::net::TcpListener, shared: Arc<Shared>, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener).expect("a listener of the runtime");
        tokio::select! {
            _ = stopped => {}
            never = accept(listener, shared) => match never {},
        }
    });
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) -> Infallible {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(converse(stream, Arc::clone(&shared)))),
            // Out of descriptors: give those in use the time to close.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn converse(stream: TcpStream, shared: Arc<Shared>) {
    // Errors are the client's, or a wished cut; the record has what matters of either.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| answer(Arc::clone(&shared), request));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Answered, Cut> {
    let path = request.uri().path();
    match *request.method() {
        Method::POST if path.ends_with(SEND) => take(shared, request).await,
        Method::GET => {
            let path = path.to_owned();
            Ok(look(&shared, request.headers(), (&path, &[])).await)
        }
        // The list is asked for by a body: it may hold a filter.
        Method::POST if path.ends_with(LIST) => {
            let (head, body) = request.into_parts();
            let Ok(body) = whole(body).await else { return Err(Cut) };
            Ok(look(&shared, &head.headers, (LIST, &body)).await)
        }
        _ => Ok(refused(&shared, &unknown())),
    }
}

fn unknown() -> Refusal {
    Refusal::new(404, "UnknownOperationException", "The requested operation is not recognized by the service.")
}

/// GetAccount, ListEmailIdentities and GetEmailIdentity.
async fn look(shared: &Shared, headers: &HeaderMap, (path, body): (&str, &[u8])) -> Answered {
    if path.ends_with(ACCOUNT) {
        shared.book.count(|counts| counts.account += 1);
    }
    let setup = locked(&shared.setup).clone();
    pause(setup.latency).await;
    let wished = setup.look_error.map(|(status, kind, message)| Refusal::new(status, kind, message));
    let told = match (Credential::of(headers), seen(&setup, path, body)) {
        (None, _) => Err(request::unauthorized()),
        (Some(_), _) if wished.is_some() => Err(wished.unwrap_or_else(unknown)),
        (Some(_), Some((action, told))) if !setup.denied.contains(action) => told,
        (Some(_), Some((action, _))) => Err(account::denied(action)),
        (Some(_), None) => Err(unknown()),
    };
    let mut answer = match told {
        Ok(content) => reply(shared, StatusCode::OK, &content),
        Err(refusal) => refused(shared, &refusal),
    };
    if setup.clock_ahead != 0
        && let Some(date) = date(setup.clock_ahead)
    {
        answer.headers_mut().insert(DATE, date);
    }
    answer
}

/// The action that a look needs, and what it shows.
fn seen(setup: &Setup, path: &str, body: &[u8]) -> Option<(&'static str, Result<Value, Refusal>)> {
    let all = &setup.identities;
    if path.ends_with(ACCOUNT) {
        Some(("ses:GetAccount", Ok(setup.account.json(setup.standing))))
    } else if path.ends_with(LIST) {
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        Some(("ses:ListEmailIdentities", Ok(identities::page(all, &asked, setup.page))))
    } else {
        let (_, name) = path.split_once(IDENTITIES)?;
        Some(("ses:GetEmailIdentity", identities::one(all, name.strip_prefix('/')?)))
    }
}

/// A Date field (RFC 9110 section 5.6.7) of a clock that is so many seconds ahead.
fn date(ahead: i64) -> Option<HeaderValue> {
    let now = jiff::Timestamp::now().checked_add(jiff::SignedDuration::from_secs(ahead)).ok()?;
    HeaderValue::from_str(&now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()).ok()
}

/// SendEmail.
async fn take(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Answered, Cut> {
    let (head, body) = request.into_parts();
    let setup = locked(&shared.setup).clone();
    let number = shared.ids.next_call();
    let credential = Credential::of(&head.headers);
    let claim = match credential {
        Some(_) => locked(&shared.plan).claim(number),
        None => Claim::Settled(Answer::Accept),
    };
    if let Some(delay) = claim.cut_before_reading() {
        pause(delay.saturating_add(setup.latency)).await;
        shared.book.count(|counts| counts.unread += 1);
        return Err(Cut);
    }
    let body = match whole(body).await {
        Ok(body) => body,
        Err(unread) => {
            shared.book.count(|counts| counts.unread += 1);
            return unread.map(|refusal| refused(&shared, &refusal)).ok_or(Cut);
        }
    };
    let mut call = Call { number, path: head.uri.path().to_owned(), ..Call::default() };
    let readable = request::read(&body, &mut call);
    drop(body);
    let region = match credential {
        Some(Credential { access_key, region }) => {
            call.access_key = access_key;
            readable.map(|()| region)
        }
        None => Err(request::unauthorized()),
    };
    let answer = claim.answer(&call);
    conclude(shared, Heard { call, setup, region }, answer).await
}

/// A call that was read to its end.
struct Heard {
    call: Call,
    /// The wishes of the moment at which it arrived.
    setup: Setup,
    /// Where it is for; or what it earns as a request without authorization or sense.
    region: Result<String, Refusal>,
}

/// The body, or what to say in place of it: nothing when the client went away in the middle.
async fn whole(body: Incoming) -> Result<Bytes, Option<Refusal>> {
    let too_long = || {
        let message = "The request body is too long.";
        Some(Refusal::new(413, "RequestEntityTooLargeException", message))
    };
    let announced = body.size_hint().lower();
    if usize::try_from(announced).map_or(true, |length| length > BODY) {
        return Err(too_long());
    }
    match Limited::new(body, BODY).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_long()),
        Err(_) => Err(None),
    }
}

/// Records the call and answers it, at once or when its time has come.
async fn conclude(shared: Arc<Shared>, heard: Heard, answer: Answer) -> Result<Answered, Cut> {
    let (delay, answer) = answer.flat();
    let delay = delay.saturating_add(heard.setup.latency);
    // Before the call is in the record, so that no release is missed by one who saw it there.
    let hang = (answer == Answer::Hang).then(|| shared.release.subscribe());
    let fate = fate(&shared, &heard, &answer);
    let mut call = heard.call;
    if !heard.setup.keep_bodies {
        call.raw = Bytes::new();
    }
    if delay.is_zero() && hang.is_none() {
        call.fate = fate.clone();
        shared.book.enter(call);
        return speak(&shared, fate);
    }
    let place = shared.book.enter(call);
    if let Some(mut hang) = hang {
        pause(delay).await;
        // An error means that the fake stops, and this task with it.
        let _ = hang.changed().await;
        shared.book.settle(place, fate.clone());
        return speak(&shared, fate);
    }
    // A task of its own: hyper drops this one when the client goes, SES goes on with what it has read.
    let late = tokio::spawn(async move {
        pause(delay).await;
        shared.book.settle(place, fate.clone());
        speak(&shared, fate)
    });
    late.await.unwrap_or(Err(Cut))
}

/// What becomes of a call that was read: as wished, except that a request without authorization or sense is refused,
/// and that nothing is accepted against SES's rules.
fn fate(shared: &Shared, heard: &Heard, answer: &Answer) -> Fate {
    if matches!(answer, Answer::CutBeforeReading | Answer::CutAfterReading) {
        return Fate::Ambiguous;
    }
    let region = match &heard.region {
        Ok(region) => region,
        Err(refusal) => return Fate::Refused(refusal.clone()),
    };
    match answer {
        Answer::Throttle => Fate::Refused(Refusal::throttled()),
        Answer::Error { status, kind, message } => Fate::Refused(Refusal::new(*status, kind, message)),
        _ => {
            let law = Law { profile: shared.profile, refused_senders: &heard.setup.refused_senders, region };
            let accepted = || Fate::Accepted {
                message_id: shared.ids.message(heard.call.number),
                told: *answer != Answer::AcceptThenCut,
            };
            law.refusal(&heard.call).map_or_else(accepted, Fate::Refused)
        }
    }
}

fn speak(shared: &Shared, fate: Fate) -> Result<Answered, Cut> {
    match fate {
        Fate::Accepted { message_id, told: true } => {
            Ok(reply(shared, StatusCode::OK, &json!({ "MessageId": message_id })))
        }
        Fate::Refused(refusal) => Ok(refused(shared, &refusal)),
        Fate::Accepted { .. } | Fate::Ambiguous | Fate::Pending => Err(Cut),
    }
}

/// The wire form of an error: the text in the body, the type in a header.
fn refused(shared: &Shared, refusal: &Refusal) -> Answered {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = reply(shared, status, &json!({ "message": refusal.message }));
    if let Ok(kind) = HeaderValue::from_str(&refusal.kind) {
        response.headers_mut().insert("x-amzn-errortype", kind);
    }
    response
}

fn reply(shared: &Shared, status: StatusCode, content: &Value) -> Answered {
    let mut response = Response::new(Full::from(content.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(id) = HeaderValue::from_str(&shared.ids.request()) {
        headers.insert("x-amzn-requestid", id);
    }
    response
}

/// Zero does not even yield: a busy fake answers a request in one go.
async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
