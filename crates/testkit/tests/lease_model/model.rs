//! The states, and what can happen in each.

use std::fmt;

/// How many ticks a lease lasts.
const LEASE: u8 = 2;

/// What is done otherwise than it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    Sound,
    AnsweredUnsynced,
    SettledByRead,
    CountedFromAnswer,
    DriverGoesOn,
    AppendWithoutEpoch,
    TakenWithoutEpoch,
    /// Who finds the run to be its own already takes it under the claim of before.
    FoundByRead,
    RepeatsInterrupted,
}

/// How often each of these happens at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) crashes: u8,
    pub(crate) losses: u8,
    pub(crate) failovers: u8,
    /// How many leases are made; beyond that a worker does without one.
    pub(crate) leases: u8,
    /// How often a worker gives the run up before it has ended.
    pub(crate) releases: u8,
}

/// An entry of the log: an effect is to begin, or has an outcome. Who wrote it is part of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Entry {
    effect: u8,
    is_outcome: bool,
    epoch: u8,
}

/// A lease as the server has it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Row {
    left: u8,
    is_dead: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Server {
    log: Vec<Entry>,
    epoch: u8,
    holder: Option<usize>,
    rows: Vec<Row>,
}

/// What a worker believes to hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Claim {
    row: usize,
    epoch: u8,
    /// How long the log is, as far as it knows.
    head: usize,
}

/// A statement under way, or its answer, which may wait for the standby.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Leg<T> {
    There,
    Back { answer: T, is_synced: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Doing {
    Nothing,
    Takes(Leg<Option<Claim>>),
    Appends(Entry, Leg<bool>),
    /// The connection broke; what became of the entry is asked for.
    Settles(Entry, Leg<Option<(u8, bool)>>),
    Releases(Leg<()>),
    /// The entry that an effect is to begin is durable.
    Begins(u8),
    HasBegun(u8),
}

/// A renewal under way, with what is left of the lease that it would make, counted from when it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Renewal {
    counted: u8,
    leg: Leg<bool>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Worker {
    row: Option<usize>,
    /// What it counts to be left of its lease.
    left: u8,
    claim: Option<Claim>,
    doing: Doing,
    renewal: Option<Renewal>,
}

/// A statement that nobody waits for, still to be carried out.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Late {
    Append(Claim, Entry),
    Release(Claim),
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    primary: Server,
    standby: Server,
    workers: Vec<Worker>,
    late: Option<Late>,
    /// How much of which log was acknowledged.
    acknowledged: Vec<Entry>,
    /// How often each effect was begun.
    begun: Vec<u8>,
    budget: Budget,
}

/// What can happen next, and what it leads to; an error where a promise is broken.
pub(crate) type Steps = Vec<(String, Result<State, String>)>;

impl Server {
    fn is_held(&self, claim: Claim) -> bool {
        self.holder == Some(claim.row) && self.epoch == claim.epoch
    }

    fn may_act(&self, claim: Claim) -> bool {
        let row = &self.rows.get(claim.row);
        let lives = row.is_some_and(|row| !row.is_dead && row.left > 0);
        lives && self.is_held(claim)
    }

    /// Frees the run, if it is held under this claim, which counts no more.
    fn release(&mut self, claim: Claim) {
        if self.is_held(claim) {
            self.holder = None;
            self.epoch += 1;
        }
    }

    fn bury(&mut self) {
        for row in self.rows.iter_mut().filter(|row| row.left == 0) {
            row.is_dead = true;
        }
    }

    /// How long a dead lease would have lasted says nothing.
    fn forget_dead(&mut self) {
        for row in self.rows.iter_mut().filter(|row| row.is_dead) {
            row.left = 0;
        }
    }

    /// Whether there is anything to take: also what the worker holds and was not told of. A take that is refused changes
    /// nothing, and is left out.
    fn can_be_taken(&self, row: usize) -> bool {
        self.holder.is_none_or(|holder| holder == row)
    }

    /// What follows in the log: the entry of the next effect, or the outcome of the last.
    fn next_entry(&self, claim: Claim, effects: u8) -> Option<Entry> {
        let entry = |effect, is_outcome| Entry {
            effect,
            is_outcome,
            epoch: claim.epoch,
        };
        match self.log.get(..claim.head)?.last() {
            None => Some(entry(0, false)),
            Some(last) if !last.is_outcome => Some(entry(last.effect, true)),
            Some(last) => (last.effect + 1 < effects).then(|| entry(last.effect + 1, false)),
        }
    }
}

impl Worker {
    fn new() -> Self {
        Self {
            row: None,
            left: 0,
            claim: None,
            doing: Doing::Nothing,
            renewal: None,
        }
    }
}

impl State {
    pub(crate) fn new(workers: usize, effects: u8, budget: Budget) -> Self {
        let server = Server {
            log: vec![],
            epoch: 0,
            holder: None,
            rows: vec![],
        };
        Self {
            primary: server.clone(),
            standby: server,
            workers: vec![Worker::new(); workers],
            late: None,
            acknowledged: vec![],
            begun: vec![0; usize::from(effects)],
            budget,
        }
    }

    fn effects(&self) -> u8 {
        self.begun.len() as u8
    }

    /// No failover undoes it.
    pub(crate) fn has_ended(&self) -> bool {
        let logs = [&self.primary.log, &self.standby.log];
        logs.iter().all(|log| log.len() == 2 * self.begun.len())
    }

    /// All that can happen.
    pub(crate) fn steps(&self, variant: Variant) -> Steps {
        let mut steps = vec![];
        if self.has_ended() {
            return steps;
        }
        self.time_steps(&mut steps);
        self.server_steps(variant, &mut steps);
        for at in 0..self.workers.len() {
            self.fault_steps(at, &mut steps);
            self.lease_steps(at, variant, &mut steps);
            self.release_steps(at, &mut steps);
            self.drive_steps(at, variant, &mut steps);
        }
        for (_, result) in &mut steps {
            if let Ok(after) = result {
                after.simplify();
            }
        }
        steps
    }

    /// What makes no difference any more is the same in all states: fewer are looked at.
    fn simplify(&mut self) {
        if self.budget.failovers == 0 {
            self.standby = self.primary.clone();
            self.sync();
        }
        self.primary.forget_dead();
        self.standby.forget_dead();
        self.late = self.late.filter(|late| match late {
            Late::Append(claim, _) => claim.head == self.primary.log.len(),
            Late::Release(claim) => self.primary.is_held(*claim),
        });
    }

    /// Whether a worker can still get a lease.
    pub(crate) fn has_leases(&self) -> bool {
        self.budget.leases > 0
    }

    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut after = self.clone();
        change(&mut after);
        after
    }

    fn time_steps(&self, steps: &mut Steps) {
        let after = self.with(|it| {
            let servers = [&mut it.primary, &mut it.standby].into_iter();
            for row in servers.flat_map(|server| server.rows.iter_mut()) {
                row.left = row.left.saturating_sub(1);
            }
            for worker in &mut it.workers {
                worker.left = worker.left.saturating_sub(1);
                if let Some(renewal) = &mut worker.renewal {
                    renewal.counted = renewal.counted.saturating_sub(1);
                }
            }
        });
        steps.push(("a tick".into(), Ok(after)));
    }

    fn server_steps(&self, variant: Variant, steps: &mut Steps) {
        if self.standby != self.primary {
            let after = self.with(|it| {
                it.standby = it.primary.clone();
                it.sync();
            });
            steps.push(("the standby catches up".into(), Ok(after)));
        }
        if self.budget.failovers > 0 {
            let after = self.with(|it| {
                it.budget.failovers -= 1;
                it.primary = it.standby.clone();
                it.late = None;
                it.workers.iter_mut().for_each(cut);
            });
            let result = after.checked();
            steps.push(("the standby takes over".into(), result));
        }
        if let Some(late) = self.late {
            let mut after = self.with(|it| it.late = None);
            let (what, result) = match late {
                Late::Append(claim, entry) => {
                    ("append", after.append(claim, entry, variant).map(drop))
                }
                Late::Release(claim) => {
                    after.primary.release(claim);
                    ("release", Ok(()))
                }
            };
            let step = format!("a late {what} is carried out");
            steps.push((step, result.map(|()| after)));
        }
        let orphan = self.primary.holder.is_some_and(|row| {
            let row = &self.primary.rows[row];
            row.is_dead || row.left == 0
        });
        if orphan {
            let after = self.with(|it| {
                it.primary.bury();
                it.primary.holder = None;
            });
            steps.push(("the run is queued again".into(), Ok(after)));
        }
    }

    /// Answers that waited for the standby may leave.
    fn sync(&mut self) {
        for worker in &mut self.workers {
            match &mut worker.doing {
                Doing::Takes(Leg::Back { is_synced, .. })
                | Doing::Appends(_, Leg::Back { is_synced, .. })
                | Doing::Settles(_, Leg::Back { is_synced, .. })
                | Doing::Releases(Leg::Back { is_synced, .. }) => *is_synced = true,
                _ => {}
            }
            if let Some(Renewal {
                leg: Leg::Back { is_synced, .. },
                ..
            }) = &mut worker.renewal
            {
                *is_synced = true;
            }
        }
    }

    /// What was acknowledged is in the log.
    fn checked(self) -> Result<Self, String> {
        match self.primary.log.starts_with(&self.acknowledged) {
            true => Ok(self),
            false => Err("an acknowledged entry is lost".into()),
        }
    }

    fn fault_steps(&self, at: usize, steps: &mut Steps) {
        if self.budget.crashes > 0 && self.workers[at] != Worker::new() {
            let after = self.with(|it| {
                it.budget.crashes -= 1;
                it.leave_late(at);
                it.workers[at] = Worker::new();
            });
            steps.push((format!("worker {at} crashes"), Ok(after)));
        }
        let has_sent = self.workers[at].renewal.is_some()
            || matches!(
                self.workers[at].doing,
                Doing::Takes(_) | Doing::Appends(..) | Doing::Settles(..) | Doing::Releases(_)
            );
        if self.budget.losses > 0 && has_sent {
            let after = self.with(|it| {
                it.budget.losses -= 1;
                it.leave_late(at);
                cut(&mut it.workers[at]);
            });
            steps.push((format!("the connection of worker {at} breaks"), Ok(after)));
        }
    }

    /// What is under way may be carried out though nobody waits for it.
    fn leave_late(&mut self, at: usize) {
        let worker = &self.workers[at];
        let late = worker.claim.and_then(|claim| match worker.doing {
            Doing::Appends(entry, Leg::There) => Some(Late::Append(claim, entry)),
            Doing::Releases(Leg::There) => Some(Late::Release(claim)),
            _ => None,
        });
        self.late = self.late.or(late);
    }

    fn lease_steps(&self, at: usize, variant: Variant, steps: &mut Steps) {
        let worker = &self.workers[at];
        let lost = worker.row.is_some() && worker.left == 0 && variant != Variant::DriverGoesOn;
        if lost {
            let after = self.with(|it| {
                it.leave_late(at);
                it.workers[at] = Worker::new();
            });
            steps.push((format!("worker {at} stops its effects"), Ok(after)));
            return;
        }
        match (worker.row, worker.renewal) {
            (None, _) if self.budget.leases > 0 => {
                let after = self.with(|it| {
                    it.budget.leases -= 1;
                    it.primary.rows.push(Row {
                        left: LEASE,
                        is_dead: false,
                    });
                    // It is told when the standby has it, as with every write.
                    it.standby = it.primary.clone();
                    it.sync();
                    it.workers[at].row = Some(it.primary.rows.len() - 1);
                    it.workers[at].left = LEASE;
                });
                steps.push((format!("worker {at} gets a lease"), Ok(after)));
            }
            // Who holds nothing lets its lease end, and gets another one.
            (Some(_), None) if worker.claim.is_some() => {
                let renewal = Renewal {
                    counted: LEASE,
                    leg: Leg::There,
                };
                let after = self.with(|it| it.workers[at].renewal = Some(renewal));
                steps.push((format!("worker {at} sends a renewal"), Ok(after)));
            }
            (Some(row), Some(renewal)) => self.renewal_steps(at, row, renewal, variant, steps),
            _ => {}
        }
    }

    fn renewal_steps(
        &self,
        at: usize,
        row: usize,
        renewal: Renewal,
        variant: Variant,
        steps: &mut Steps,
    ) {
        match renewal.leg {
            Leg::There => {
                let after = self.with(|it| {
                    let row = it.primary.rows.get_mut(row);
                    let row = row.filter(|row| !row.is_dead && row.left > 0);
                    let answer = row.map(|row| row.left = LEASE).is_some();
                    let is_synced = it.primary == it.standby;
                    it.workers[at].renewal = Some(Renewal {
                        leg: Leg::Back { answer, is_synced },
                        ..renewal
                    });
                });
                steps.push((
                    format!("the server renews the lease of worker {at}"),
                    Ok(after),
                ));
            }
            Leg::Back { answer, is_synced }
                if is_synced || variant == Variant::AnsweredUnsynced =>
            {
                let after = self.with(|it| {
                    let worker = &mut it.workers[at];
                    worker.renewal = None;
                    worker.left = match (answer, variant) {
                        (false, _) => 0,
                        (true, Variant::CountedFromAnswer) => LEASE,
                        (true, _) => renewal.counted.max(worker.left),
                    };
                });
                steps.push((format!("worker {at} hears of its renewal"), Ok(after)));
            }
            Leg::Back { .. } => {}
        }
    }

    /// Something else goes wrong, and it lets others drive the run.
    fn release_steps(&self, at: usize, steps: &mut Steps) {
        let worker = &self.workers[at];
        match (worker.doing, worker.claim) {
            (Doing::Nothing, Some(_)) if self.budget.releases > 0 => {
                let after = self.with(|it| {
                    it.budget.releases -= 1;
                    it.workers[at].doing = Doing::Releases(Leg::There);
                });
                steps.push((format!("worker {at} sends a release"), Ok(after)));
            }
            (Doing::Releases(Leg::There), Some(claim)) => {
                let after = self.with(|it| {
                    it.primary.release(claim);
                    let is_synced = it.primary == it.standby;
                    let leg = Leg::Back {
                        answer: (),
                        is_synced,
                    };
                    it.workers[at].doing = Doing::Releases(leg);
                });
                steps.push((
                    format!("the server releases the run of worker {at}"),
                    Ok(after),
                ));
            }
            (Doing::Releases(Leg::Back { is_synced, .. }), _) if is_synced => {
                let after = self.with(|it| it.let_go(at));
                steps.push((format!("worker {at} hears of its release"), Ok(after)));
            }
            _ => {}
        }
    }

    /// A driver looks at its clock before it does anything.
    fn drive_steps(&self, at: usize, variant: Variant, steps: &mut Steps) {
        let worker = &self.workers[at];
        let may = worker.left > 0 || variant == Variant::DriverGoesOn;
        let Some(row) = worker.row.filter(|_| may) else {
            return;
        };
        let step = match (worker.doing, worker.claim) {
            (Doing::Nothing, None) if !self.primary.can_be_taken(row) => None,
            (Doing::Nothing, None) => Some(self.sends(at, "take", Doing::Takes(Leg::There))),
            (Doing::Nothing, Some(claim)) => self.goes_on(at, claim, variant),
            (Doing::Takes(leg), _) => self.takes(at, row, leg, variant),
            (Doing::Appends(entry, leg), Some(claim)) => {
                self.appends(at, claim, entry, leg, variant)
            }
            (Doing::Settles(entry, leg), Some(claim)) => {
                self.settles(at, claim, entry, leg, variant)
            }
            (Doing::Begins(effect), Some(claim)) => Some(self.begins(at, claim, effect)),
            (Doing::HasBegun(effect), Some(claim)) => {
                let entry = Entry {
                    effect,
                    is_outcome: true,
                    epoch: claim.epoch,
                };
                Some(self.sends(at, "outcome", Doing::Appends(entry, Leg::There)))
            }
            _ => None,
        };
        steps.extend(step);
    }

    fn sends(&self, at: usize, what: &str, doing: Doing) -> (String, Result<Self, String>) {
        let after = self.with(|it| it.workers[at].doing = doing);
        (format!("worker {at} sends a {what}"), Ok(after))
    }

    /// What the log says is next: of an effect whose outcome is not known, that it was interrupted.
    fn goes_on(
        &self,
        at: usize,
        claim: Claim,
        variant: Variant,
    ) -> Option<(String, Result<Self, String>)> {
        let entry = self.primary.next_entry(claim, self.effects())?;
        if entry.is_outcome && variant == Variant::RepeatsInterrupted {
            let after = self.with(|it| it.workers[at].doing = Doing::Begins(entry.effect));
            return Some((format!("worker {at} repeats a call"), Ok(after)));
        }
        Some(self.sends(at, "next entry", Doing::Appends(entry, Leg::There)))
    }

    fn takes(
        &self,
        at: usize,
        row: usize,
        leg: Leg<Option<Claim>>,
        variant: Variant,
    ) -> Option<(String, Result<Self, String>)> {
        match leg {
            Leg::There => {
                let after = self.with(|it| {
                    let lives = it.primary.rows.get(row).is_some_and(|row| !row.is_dead);
                    let is_free = it.primary.holder.is_none_or(|holder| holder == row);
                    let is_found = it.primary.holder == Some(row);
                    let is_anew = match variant {
                        Variant::TakenWithoutEpoch => false,
                        Variant::FoundByRead => !is_found,
                        _ => true,
                    };
                    let answer = (lives && is_free).then(|| {
                        it.primary.holder = Some(row);
                        it.primary.epoch += u8::from(is_anew);
                        Claim {
                            row,
                            epoch: it.primary.epoch,
                            head: it.primary.log.len(),
                        }
                    });
                    let is_synced = it.primary == it.standby;
                    it.workers[at].doing = Doing::Takes(Leg::Back { answer, is_synced });
                });
                Some((
                    format!("the server gives worker {at} the run or not"),
                    Ok(after),
                ))
            }
            Leg::Back { answer, is_synced }
                if is_synced || variant == Variant::AnsweredUnsynced =>
            {
                // The log is read under the claim.
                let after = self.with(|it| {
                    it.workers[at].doing = Doing::Nothing;
                    it.workers[at].claim = answer.map(|claim| Claim {
                        head: it.primary.log.len(),
                        ..claim
                    });
                });
                Some((format!("worker {at} hears of its take"), Ok(after)))
            }
            Leg::Back { .. } => None,
        }
    }

    /// Whether the server takes the entry.
    fn append(&mut self, claim: Claim, entry: Entry, variant: Variant) -> Result<bool, String> {
        let is_claimed =
            variant == Variant::AppendWithoutEpoch || claim.epoch == self.primary.epoch;
        if self.primary.log.len() != claim.head || !is_claimed {
            return Ok(false);
        }
        if self
            .primary
            .holder
            .is_some_and(|holder| holder != claim.row)
        {
            return Err("an entry of a worker that was overtaken is taken".into());
        }
        self.primary.log.push(entry);
        Ok(true)
    }

    fn appends(
        &self,
        at: usize,
        claim: Claim,
        entry: Entry,
        leg: Leg<bool>,
        variant: Variant,
    ) -> Option<(String, Result<Self, String>)> {
        match leg {
            Leg::There => {
                let mut after = self.clone();
                let result = after.append(claim, entry, variant).map(|answer| {
                    let is_synced = after.primary == after.standby;
                    let leg = Leg::Back { answer, is_synced };
                    after.workers[at].doing = Doing::Appends(entry, leg);
                    after
                });
                Some((format!("the server appends for worker {at} or not"), result))
            }
            Leg::Back { answer, is_synced }
                if is_synced || variant == Variant::AnsweredUnsynced =>
            {
                let mut after = self.clone();
                match answer {
                    true => after.acknowledge(at, claim, entry),
                    false => after.let_go(at),
                }
                Some((format!("worker {at} hears of its append"), after.checked()))
            }
            Leg::Back { .. } => None,
        }
    }

    fn let_go(&mut self, at: usize) {
        self.workers[at].claim = None;
        self.workers[at].doing = Doing::Nothing;
    }

    fn acknowledge(&mut self, at: usize, claim: Claim, entry: Entry) {
        self.acknowledged.truncate(claim.head);
        if self.acknowledged.len() < claim.head {
            // What it found when it took the run.
            let known = self.primary.log.get(..claim.head).unwrap_or_default();
            self.acknowledged = known.to_vec();
        }
        self.acknowledged.push(entry);
        let worker = &mut self.workers[at];
        worker.claim = Some(Claim {
            head: claim.head + 1,
            ..claim
        });
        worker.doing = match entry.is_outcome {
            true => Doing::Nothing,
            false => Doing::Begins(entry.effect),
        };
    }

    fn settles(
        &self,
        at: usize,
        claim: Claim,
        entry: Entry,
        leg: Leg<Option<(u8, bool)>>,
        variant: Variant,
    ) -> Option<(String, Result<Self, String>)> {
        match leg {
            Leg::There => {
                let after = self.with(|it| {
                    let is_ours = it.primary.holder == Some(claim.row);
                    let answer = is_ours.then(|| {
                        it.primary.epoch += u8::from(variant != Variant::SettledByRead);
                        (
                            it.primary.epoch,
                            it.primary.log.get(claim.head) == Some(&entry),
                        )
                    });
                    let is_synced = it.primary == it.standby || variant == Variant::SettledByRead;
                    let leg = Leg::Back { answer, is_synced };
                    it.workers[at].doing = Doing::Settles(entry, leg);
                });
                Some((format!("the server settles for worker {at}"), Ok(after)))
            }
            Leg::Back { answer, is_synced }
                if is_synced || variant == Variant::AnsweredUnsynced =>
            {
                let mut after = self.clone();
                match answer {
                    None => after.let_go(at),
                    Some((epoch, is_done)) => {
                        let claim = Claim { epoch, ..claim };
                        after.workers[at].claim = Some(claim);
                        match is_done {
                            true => after.acknowledge(at, claim, entry),
                            false => after.workers[at].doing = Doing::Appends(entry, Leg::There),
                        }
                    }
                }
                Some((
                    format!("worker {at} hears what became of it"),
                    after.checked(),
                ))
            }
            Leg::Back { .. } => None,
        }
    }

    fn begins(&self, at: usize, claim: Claim, effect: u8) -> (String, Result<Self, String>) {
        let after = self.with(|it| {
            it.begun[usize::from(effect)] += 1;
            it.workers[at].doing = Doing::HasBegun(effect);
        });
        let result = match (
            after.begun[usize::from(effect)],
            self.primary.may_act(claim),
        ) {
            (2.., _) => Err("an effect is begun twice".into()),
            (_, false) => Err("an effect begins on a lease that is over".into()),
            (_, true) => Ok(after),
        };
        (format!("worker {at} begins effect {effect}"), result)
    }
}

/// Its connections are gone, with all answers: what became of an append has to be settled.
fn cut(worker: &mut Worker) {
    worker.renewal = None;
    if matches!(worker.doing, Doing::Releases(_)) {
        worker.claim = None;
    }
    worker.doing = match worker.doing {
        Doing::Takes(_) | Doing::Releases(_) => Doing::Nothing,
        Doing::Appends(entry, _) | Doing::Settles(entry, _) => Doing::Settles(entry, Leg::There),
        doing @ (Doing::Nothing | Doing::Begins(_) | Doing::HasBegun(_)) => doing,
    };
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_outcome { "outcome" } else { "effect" };
        write!(f, "{what} {} by {}", self.effect, self.epoch)
    }
}
