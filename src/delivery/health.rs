//! Whether an upstream is well: as with HAProxy's checks, `fall` failures in a row make it ill and `rise` successes in a
//! row make it well again. Attempts count as much as checks do.

use crate::mail::Period;

/// How an upstream is looked after.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    /// From one check to the next.
    pub interval: Period,
    /// Successes in a row that make it well.
    pub rise: u32,
    /// Failures in a row that make it ill.
    pub fall: u32,
}

/// The health of one upstream; well until it is known to be ill.
#[derive(Clone, Debug)]
pub(super) struct Health {
    checks: Checks,
    well: bool,
    /// Results in a row that speak against the present state.
    against: u32,
    /// Why it was last found ill.
    pub(super) cause: String,
}

impl Health {
    pub(super) fn new(checks: Checks) -> Self {
        Self { checks, well: true, against: 0, cause: String::new() }
    }

    pub(super) fn is_well(&self) -> bool {
        self.well
    }

    /// Takes a result in; whether the state changed by it.
    pub(super) fn heard(&mut self, result: Result<(), &str>) -> bool {
        if let Err(cause) = result {
            cause.clone_into(&mut self.cause);
        }
        if result.is_ok() == self.well {
            self.against = 0;
            return false;
        }
        self.against += 1;
        let enough = if self.well { self.checks.fall } else { self.checks.rise };
        if self.against < enough.max(1) {
            return false;
        }
        (self.well, self.against) = (!self.well, 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_falls_and_rises_by_results_in_a_row() {
        let mut health = Health::new(Checks { interval: Period::seconds(1), rise: 2, fall: 3 });
        let results = [false, false, true, false, false, false, true, false, true, true, false];
        let states = results.map(|good| {
            health.heard(if good { Ok(()) } else { Err("down") });
            health.is_well()
        });
        assert_eq!(states, [true, true, true, true, true, false, false, false, false, true, true]);
        assert_eq!(health.cause, "down");
    }
}
