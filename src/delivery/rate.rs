//! How fast an upstream is sent to: a token bucket in recipients a second.
//!
//! A large envelope may take more than there is; the debt is paid before the next goes out. SES counts recipients, so
//! the bucket does. Throttling halves the pace, which then opens again by a twentieth of the whole each second.

use std::time::Duration;

use tokio::time::Instant;

use crate::upstream::Capacity;

/// The share of the account's rate that is used: SES throttles those who use all of it.
const SHARE: f64 = 0.9;
/// Recipients a second at first where the upstream does not tell its rate.
const FIRST: f64 = 10.0;
/// By how much a rate that nobody told grows each second in which it was the limit.
const GROWTH: f64 = 1.1;
/// The slowest pace, as a share of the full one.
const SLOWEST: f64 = 1.0 / 64.0;
/// How much of the full pace comes back each second.
const OPENING: f64 = 0.05;
/// Seconds of the rate that may be saved up.
const BURST: f64 = 0.1;
/// How long a used up daily quota is waited for when nobody tells that it opened.
const QUOTA: Duration = Duration::from_secs(15 * 60);

/// How the rate is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// As fast as it goes.
    Unlimited,
    /// That many recipients a second.
    Fixed(f64),
    /// What the upstream tells, else felt for.
    Told,
}

/// The bucket.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pace: Pace,
    /// Recipients a second at full pace.
    rate: f64,
    /// Whether the rate is felt for.
    felt: bool,
    /// The share of the rate that is used now.
    opened: f64,
    tokens: f64,
    filled: Instant,
    grown: Instant,
    closed: Option<Instant>,
    slowed: Option<Instant>,
}

impl Bucket {
    pub(super) fn new(pace: Pace, now: Instant) -> Self {
        let rate = match pace {
            Pace::Unlimited => f64::INFINITY,
            Pace::Fixed(rate) => rate,
            Pace::Told => FIRST,
        };
        let felt = pace == Pace::Told;
        Self { pace, rate, felt, opened: 1.0, tokens: 1.0, filled: now, grown: now, closed: None, slowed: None }
    }

    /// Recipients a second now.
    pub(super) fn rate(&self) -> f64 {
        self.rate * self.opened
    }

    fn fill(&mut self, now: Instant) {
        let seconds = now.saturating_duration_since(self.filled).as_secs_f64();
        self.filled = now;
        self.opened = (self.opened + seconds * OPENING).min(1.0);
        let most = (self.rate * BURST).max(1.0);
        self.tokens = (self.tokens + seconds * self.rate()).min(most);
    }

    /// How long until the next recipient may go out; nothing when one may now.
    pub(super) fn ready_in(&mut self, now: Instant) -> Duration {
        if let Some(opens) = self.closed {
            if opens > now {
                return opens - now;
            }
            self.closed = None;
        }
        if self.rate.is_infinite() {
            return Duration::ZERO;
        }
        self.fill(now);
        if self.tokens >= 1.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64((1.0 - self.tokens) / self.rate()).unwrap_or(Duration::MAX).min(QUOTA)
    }

    /// How many recipients may go out now.
    pub(super) fn room(&mut self, now: Instant) -> usize {
        if !self.ready_in(now).is_zero() {
            return 0;
        }
        // A float turns into the nearest integer there is, and infinity into the largest.
        self.tokens.max(if self.rate.is_infinite() { f64::INFINITY } else { 1.0 }) as usize
    }

    /// Takes tokens for an attempt, also more than there are.
    pub(super) fn take(&mut self, now: Instant, recipients: usize) {
        if self.rate.is_infinite() {
            return;
        }
        self.fill(now);
        self.tokens -= recipients as f64;
        let limiting = self.tokens < 1.0 && self.opened >= 1.0;
        if self.felt && limiting && now.saturating_duration_since(self.grown) >= Duration::from_secs(1) {
            (self.rate, self.grown) = (self.rate * GROWTH, now);
        }
    }

    /// The upstream finds it too fast.
    pub(super) fn throttled(&mut self, now: Instant) {
        if self.rate.is_infinite() {
            self.rate = FIRST;
        }
        self.fill(now);
        self.tokens = self.tokens.min(0.0);
        // Attempts that were under way together are refused together: that is one sign, not many.
        if self.slowed.is_some_and(|slowed| now.saturating_duration_since(slowed) < Duration::from_secs(1)) {
            return;
        }
        self.slowed = Some(now);
        if self.felt {
            self.rate = (self.rate / GROWTH).max(FIRST * SLOWEST);
        }
        self.opened = (self.opened / 2.0).max(SLOWEST);
    }

    /// The upstream takes no more today. Gives when it is tried again, if it was open until now.
    pub(super) fn used_up(&mut self, now: Instant) -> Option<Duration> {
        let was_open = self.closed.is_none_or(|opens| opens <= now);
        self.closed = Some(now + QUOTA);
        was_open.then_some(QUOTA)
    }

    /// What the upstream tells of itself. Gives whether a used up quota has opened.
    pub(super) fn told(&mut self, now: Instant, capacity: &Capacity) -> bool {
        if let (Pace::Told, Some(rate)) = (self.pace, capacity.rate.filter(|rate| *rate > 0.0)) {
            self.fill(now);
            (self.rate, self.felt) = (rate * SHARE, false);
        }
        let (Some(daily), Some(sent)) = (capacity.daily, capacity.sent) else { return false };
        if daily >= 0.0 && sent >= daily {
            return false;
        }
        self.closed.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(number: f64) -> Duration {
        Duration::from_secs_f64(number)
    }

    /// How many recipients go out in that many seconds, looked at each millisecond.
    fn sent(bucket: &mut Bucket, from: Instant, during: f64, each: usize) -> usize {
        let mut sent = 0;
        for step in 0..(during * 1000.0) as u64 {
            let now = from + Duration::from_millis(step);
            while bucket.ready_in(now).is_zero() {
                bucket.take(now, each);
                sent += each;
            }
        }
        sent
    }

    #[test]
    fn a_fixed_rate_is_kept_whatever_the_envelopes() {
        let now = Instant::now();
        for each in [1, 7, 50] {
            let sent = sent(&mut Bucket::new(Pace::Fixed(14.0), now), now, 20.0, each);
            assert!((280 - 14..=280 + 50).contains(&sent), "{each}: {sent}");
        }
    }

    #[test]
    fn a_debt_is_paid_before_the_next_goes_out() {
        let now = Instant::now();
        let mut bucket = Bucket::new(Pace::Fixed(1.0), now);
        bucket.take(now, 5);
        assert_eq!(bucket.ready_in(now).as_secs_f64().round(), 5.0);
        assert_eq!(bucket.room(now), 0);
        assert_eq!(bucket.room(now + seconds(5.1)), 1);
    }

    #[test]
    fn throttling_slows_down_and_opens_again_gradually() {
        let now = Instant::now();
        let mut bucket = Bucket::new(Pace::Fixed(100.0), now);
        bucket.throttled(now);
        bucket.throttled(now + seconds(0.5));
        assert_eq!(bucket.rate(), 52.5, "once, and half a second of opening");
        bucket.opened = 0.5;
        bucket.throttled(now + seconds(0.5) + Duration::from_millis(500));
        assert!((bucket.rate() - 26.25).abs() < 0.01, "{}", bucket.rate());
        bucket.opened = 0.25;
        let later = now + seconds(6.0);
        bucket.fill(later);
        assert_eq!(bucket.rate().round(), 50.0);
        bucket.fill(later + seconds(60.0));
        assert_eq!(bucket.rate(), 100.0);
    }

    #[test]
    fn the_account_tells_the_rate_and_nine_tenths_are_used() {
        let now = Instant::now();
        let mut bucket = Bucket::new(Pace::Told, now);
        assert_eq!(bucket.rate(), 10.0);
        bucket.told(now, &Capacity { rate: Some(200.0), ..Capacity::default() });
        assert_eq!(bucket.rate(), 180.0);
        let mut fixed = Bucket::new(Pace::Fixed(5.0), now);
        fixed.told(now, &Capacity { rate: Some(200.0), ..Capacity::default() });
        assert_eq!(fixed.rate(), 5.0);
    }

    #[test]
    fn a_rate_that_nobody_tells_is_felt_for() {
        let now = Instant::now();
        let mut bucket = Bucket::new(Pace::Told, now);
        let first = sent(&mut bucket, now, 10.0, 1);
        assert!(first > 120, "{first}");
        let rate = bucket.rate();
        bucket.throttled(now + seconds(10.0));
        assert!(bucket.rate() < rate / 2.0);
    }

    #[test]
    fn a_used_up_quota_closes_until_the_account_says_it_opened() {
        let now = Instant::now();
        let mut bucket = Bucket::new(Pace::Unlimited, now);
        assert_eq!(bucket.room(now), usize::MAX);
        assert_eq!(bucket.used_up(now), Some(QUOTA));
        assert_eq!(bucket.used_up(now), None);
        assert_eq!(bucket.ready_in(now), QUOTA);
        let full = Capacity { rate: None, daily: Some(200.0), sent: Some(200.0) };
        assert!(!bucket.told(now, &full));
        assert_eq!(bucket.room(now), 0);
        assert!(bucket.told(now, &Capacity { sent: Some(150.0), ..full }));
        assert_eq!(bucket.room(now), usize::MAX);
        bucket.used_up(now);
        assert_eq!(bucket.ready_in(now + QUOTA), Duration::ZERO);
    }
}
