//! The pages and their paths.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{
    Router, extract::State, http::StatusCode, http::header::CONTENT_TYPE, response::IntoResponse, routing::get,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// What the pages show.
#[derive(Clone)]
pub struct Pages {
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// Whether mail would be taken now.
    pub ready: Arc<AtomicBool>,
}

/// Serves the pages until it is cancelled.
///
/// # Errors
/// The socket fails.
pub async fn serve(socket: TcpListener, pages: Pages, ended: CancellationToken) -> std::io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(pages);
    axum::serve(socket, router).with_graceful_shutdown(ended.cancelled_owned()).await
}

async fn readyz(State(pages): State<Pages>) -> impl IntoResponse {
    if pages.ready.load(Ordering::Relaxed) {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready: no mail is taken now\n")
    }
}

async fn metrics(State(pages): State<Pages>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], pages.metrics.page())
}
