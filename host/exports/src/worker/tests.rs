mod metrics;

use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use super::*;
use crate::{
    Clock, ComponentHealth, Environment, Finding, Health, HealthChange, HealthView, MachineFacts,
    NodeIdentity, Record, http::Http, secret::tests::AnyFile, select::Select, spool::Spool,
    status::Status,
};

/// A record that differs from others by its time.
pub fn record(time: u64) -> Record {
    let change = HealthChange {
        component: "disk".into(),
        name: "disk".into(),
        from: Health::Healthy,
        to: Health::Unhealthy,
        reason: format!("change {time}"),
        suggested_actions: Vec::new(),
    };
    Record::new(time, NodeIdentity::default(), Finding::Health(change))
}

/// The answers of an engine, in turn; then it takes everything.
type DeliveryPlan = Vec<Step>;
type Step = Box<dyn Fn(&[Record]) -> EngineAnswer + Send>;

enum EngineAnswer {
    Takes,
    Fails,
    Refuses(Vec<usize>),
    LeavesOut(usize),
    Hangs,
    Panics,
}

struct ScriptedExport {
    plan: DeliveryPlan,
    seen: Arc<Mutex<Vec<Vec<u64>>>>,
    gather: Duration,
}

impl Export for ScriptedExport {
    async fn deliver(&mut self, batch: &[Record], _: &Context) -> Result<(), DeliveryError> {
        let times = batch.iter().map(|record| record.time).collect();
        self.seen.lock().unwrap().push(times);
        let answer = match self.plan.is_empty() {
            true => EngineAnswer::Takes,
            false => self.plan.remove(0)(batch),
        };
        match answer {
            EngineAnswer::Takes => Ok(()),
            EngineAnswer::Fails => Err(DeliveryError::transient("down")),
            EngineAnswer::Refuses(records) => Err(DeliveryError::Refused {
                message: "bad".into(),
                records,
            }),
            EngineAnswer::LeavesOut(left_out) => Err(DeliveryError::PartlyTaken {
                message: "too old".into(),
                left_out,
            }),
            EngineAnswer::Hangs => std::future::pending().await,
            EngineAnswer::Panics => panic!("an engine's bug"),
        }
    }

    fn gather(&self) -> Duration {
        self.gather
    }
}

struct Bench {
    worker: Arc<Worker>,
    now: Arc<AtomicU64>,
    seen: Arc<Mutex<Vec<Vec<u64>>>>,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
}

impl Bench {
    fn new(queue_records: usize, spool: Option<&Path>) -> Self {
        let now = Arc::new(AtomicU64::new(1_000_000));
        let source = Arc::clone(&now);
        let clock = Clock::new(move || source.load(Ordering::SeqCst));
        let status = Arc::new(Status::default());
        let spool = spool.map(|folder| Spool::open(folder, 1 << 20).unwrap().0);
        let buffer = Buffer::new(queue_records, spool, Arc::clone(&status), clock.clone());
        let environment = Environment {
            node: NodeIdentity::default(),
            machine: MachineFacts::default(),
            clock,
            secrets: Arc::new(AnyFile),
            http: Http::new("test"),
            metrics: None,
            spool_folder: None,
        };
        let snapshots = watch::Sender::new(None);
        let worker = Worker {
            context: Context {
                export: "test".into(),
                timeout: Duration::from_secs(10),
                select: Select::default(),
                peer_user: None,
                environment,
                status,
            },
            buffer: Arc::new(buffer),
            snapshots: snapshots.subscribe(),
            batch_records: 100,
            longest_pause: Duration::from_secs(60),
            stop: CancellationToken::new(),
        };
        Self {
            worker: Arc::new(worker),
            now,
            seen: Arc::default(),
            snapshots,
        }
    }

    fn push(&self, times: std::ops::Range<u64>) {
        for time in times {
            self.worker.buffer.push(Arc::new(record(time)));
        }
    }

    fn start(&self, plan: DeliveryPlan) -> tokio::task::JoinHandle<()> {
        self.start_gathering(plan, Duration::ZERO)
    }

    fn start_gathering(&self, plan: DeliveryPlan, gather: Duration) -> tokio::task::JoinHandle<()> {
        let (worker, seen) = (Arc::clone(&self.worker), Arc::clone(&self.seen));
        let export = ScriptedExport { plan, seen, gather };
        tokio::spawn(async move { worker.run_records(export).await })
    }

    /// Waits until nothing waits.
    async fn drained(&self) {
        while self.worker.context.status.view().waiting() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn delivered(&self) -> Vec<Vec<u64>> {
        self.seen.lock().unwrap().clone()
    }

    async fn end(&self, task: tokio::task::JoinHandle<()>) {
        self.worker.stop.cancel();
        task.await.unwrap();
    }
}

fn answer(make: impl Fn() -> EngineAnswer + Send + 'static) -> Step {
    Box::new(move |_| make())
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_shown_and_tried_again() {
    let bench = Bench::new(100, None);
    bench.push(0..3);
    let task = bench.start(vec![
        answer(|| EngineAnswer::Fails),
        answer(|| EngineAnswer::Hangs),
        answer(|| EngineAnswer::Panics),
    ]);
    while bench.delivered().len() < 3 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    bench.now.fetch_add(60_000, Ordering::SeqCst);
    let view = bench.worker.context.status.view();
    let (health, reason) = view.verdict(bench.worker.context.now());
    assert_eq!(health, Health::Degraded);
    assert!(
        reason.contains("panicked") && reason.contains("3 records wait"),
        "{reason}"
    );
    bench.drained().await;
    assert_eq!(bench.delivered(), vec![vec![0, 1, 2]; 4]);
    let view = bench.worker.context.status.view();
    assert_eq!((view.delivered, view.failures, view.dropped), (3, 3, 0));
    assert_eq!(view.verdict(0).0, Health::Healthy);
    bench.end(task).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_dropped_and_the_rest_arrives() {
    let bench = Bench::new(100, None);
    bench.push(0..4);
    let bad = |batch: &[Record]| match batch.iter().any(|record| record.time == 2) {
        true => EngineAnswer::Refuses(Vec::new()),
        false => EngineAnswer::Takes,
    };
    let plan: DeliveryPlan = (0..8).map(|_| Box::new(bad) as _).collect();
    let task = bench.start(plan);
    bench.drained().await;
    assert_eq!(
        bench.delivered(),
        [vec![0, 1, 2, 3], vec![0, 1], vec![2, 3], vec![2], vec![3]]
    );
    let view = bench.worker.context.status.view();
    assert_eq!((view.delivered, view.refused), (3, 1));
    assert!(view.verdict(1_000_000).1.contains("refused: bad"));
    bench.end(task).await;

    let bench = Bench::new(100, None);
    bench.push(0..3);
    let task = bench.start(vec![answer(|| EngineAnswer::Refuses(vec![1]))]);
    bench.drained().await;
    assert_eq!(bench.delivered(), [vec![0, 1, 2], vec![0, 2]]);
    bench.end(task).await;
}

#[tokio::test(start_paused = true)]
async fn what_an_engine_leaves_out_is_counted_and_not_sent_again() {
    let bench = Bench::new(100, None);
    bench.push(0..4);
    let task = bench.start(vec![answer(|| EngineAnswer::LeavesOut(3))]);
    bench.drained().await;
    assert_eq!(bench.delivered(), [vec![0, 1, 2, 3]]);
    let view = bench.worker.context.status.view();
    assert_eq!((view.delivered, view.refused), (1, 3));
    assert!(view.verdict(1_000_000).1.contains("refused: too old"));
    bench.end(task).await;
}

#[tokio::test(start_paused = true)]
async fn a_dead_endpoint_costs_the_bound_and_every_loss_is_counted() {
    let bench = Bench::new(1000, None);
    let task = bench.start((0..1000).map(|_| answer(|| EngineAnswer::Fails)).collect());
    for round in 0..100 {
        bench.push(round * 100..(round + 1) * 100);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(bench.worker.context.status.view().queued <= 1000);
    }
    let view = bench.worker.context.status.view();
    assert_eq!(view.queued + view.dropped, 10_000);
    assert!(
        view.verdict(1_000_000).1.contains("the queue was full"),
        "{view:?}"
    );
    bench.end(task).await;
}

#[tokio::test]
async fn at_the_stop_what_waits_is_delivered_once_more_and_then_it_ends() {
    let bench = Bench::new(100, None);
    bench.worker.stop.cancel();
    bench.push(0..2);
    bench.start(Vec::new()).await.unwrap();
    assert_eq!(bench.delivered(), [[0, 1]]);
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_hangs_does_not_hold_up_the_stop() {
    let bench = Bench::new(100, None);
    bench.push(0..2);
    let task = bench.start(vec![answer(|| EngineAnswer::Hangs)]);
    while bench.delivered().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let began = tokio::time::Instant::now();
    bench.end(task).await;
    assert!(began.elapsed() <= STOP_GRACE + Duration::from_millis(10));
}

/// A caller that pushes more than the queue holds waits for the disk.
#[tokio::test]
async fn a_burst_that_the_disk_can_take_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(100, Some(folder.path()));
    let task = bench.start((0..1000).map(|_| answer(|| EngineAnswer::Fails)).collect());
    for time in 0..1000 {
        bench.push(time..time + 1);
        while bench.worker.buffer.is_moving() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    while bench.worker.context.status.view().spooled < 1000 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(bench.worker.context.status.view().dropped, 0);
    task.abort();
}

/// The process ends between send and acknowledgement: the same records come again.
#[tokio::test]
async fn a_spooled_record_that_was_not_acknowledged_comes_again_with_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(100, Some(folder.path()));
    let sent: Vec<_> = (0..3).map(|time| Arc::new(record(time))).collect();
    for record in &sent {
        bench.worker.buffer.push(Arc::clone(record));
    }
    let task = bench.start(vec![answer(|| EngineAnswer::Hangs)]);
    while bench.delivered().is_empty() || bench.worker.context.status.view().spooled < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    let again = Bench::new(100, Some(folder.path()));
    assert_eq!(again.worker.context.status.view().spooled, 3);
    let batch = again.worker.buffer.next(100).await;
    let ids: Vec<_> = batch.records.iter().map(|record| record.id).collect();
    let expected: Vec<_> = sent.iter().map(|record| record.id).collect();
    assert_eq!(ids, expected);
    again.worker.buffer.acknowledge(batch).await;
    assert_eq!(again.worker.context.status.view().waiting(), 0);
}

/// A disk that takes nothing is shown as the problem, and records arrive all the same.
#[tokio::test(start_paused = true)]
async fn records_are_delivered_from_memory_while_the_disk_takes_none() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(100, Some(folder.path()));
    std::fs::remove_dir_all(folder.path()).unwrap();
    bench.push(0..3);
    let task = bench.start(Vec::new());
    bench.drained().await;
    assert_eq!(bench.delivered(), [[0, 1, 2]]);
    let problem = bench.worker.context.status.view().spool_problem.unwrap();
    assert!(problem.contains("make room on the disk"), "{problem}");
    std::fs::create_dir_all(folder.path()).unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    bench.push(3..4);
    bench.drained().await;
    while bench.worker.context.status.view().spool_problem.is_some() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(bench.delivered().last().unwrap(), &[3]);
    bench.end(task).await;
}

#[tokio::test(start_paused = true)]
async fn records_are_gathered_for_a_while_or_until_a_batch_is_full() {
    let bench = Bench::new(1000, None);
    let began = tokio::time::Instant::now();
    bench.push(0..2);
    let gather = Duration::from_secs(30);
    let task = bench.start_gathering(vec![answer(|| EngineAnswer::Fails)], gather);
    tokio::time::sleep(Duration::from_secs(10)).await;
    bench.push(2..3);
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(bench.delivered(), Vec::<Vec<u64>>::new());
    bench.drained().await;
    // What failed is tried again without gathering once more.
    assert_eq!(bench.delivered(), [[0, 1, 2], [0, 1, 2]]);
    let took = began.elapsed();
    assert!(took > gather && took < gather * 2, "{took:?}");
    bench.push(3..103);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(bench.delivered().last().unwrap().len(), 100);
    // The stop does not wait either.
    bench.push(200..201);
    tokio::time::sleep(Duration::from_secs(1)).await;
    bench.end(task).await;
    assert_eq!(bench.delivered().last().unwrap(), &[200]);
}

/// Shows how often it was given which health.
struct Mirror {
    seen: Arc<Mutex<Vec<Health>>>,
    failures: u32,
}

impl StateExport for Mirror {
    async fn apply(&mut self, snapshot: &Snapshot, _: &Context) -> Result<(), DeliveryError> {
        self.seen.lock().unwrap().push(snapshot.worst(|_| false));
        if self.failures > 0 {
            self.failures -= 1;
            return Err(DeliveryError::transient("down"));
        }
        Ok(())
    }

    fn resync(&self) -> Duration {
        Duration::from_secs(60)
    }
}

fn state(health: Health) -> Option<Arc<Snapshot>> {
    let view = HealthView {
        name: "disk".into(),
        health,
        reason: String::new(),
        suggested_actions: Vec::new(),
        subject: None,
        since: 0,
    };
    Some(Arc::new(Snapshot {
        components: vec![ComponentHealth {
            component: "disk".into(),
            states: vec![view],
        }],
        ..Snapshot::default()
    }))
}

#[tokio::test(start_paused = true)]
async fn the_present_state_is_shown_at_changes_and_renewed() {
    let bench = Bench::new(1, None);
    let seen: Arc<Mutex<Vec<Health>>> = Arc::default();
    let mirror = Mirror {
        seen: Arc::clone(&seen),
        failures: 2,
    };
    let worker = Arc::clone(&bench.worker);
    let task = tokio::spawn(async move { worker.run_state(mirror).await });
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(seen.lock().unwrap().is_empty(), "nothing is known yet");
    bench.snapshots.send_replace(state(Health::Healthy));
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(bench.worker.context.status.view().failing_since.is_some());
    // While it cannot be reached only the newest state counts.
    bench.snapshots.send_replace(state(Health::Degraded));
    bench.snapshots.send_replace(state(Health::Unhealthy));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(
        *seen.lock().unwrap(),
        [Health::Healthy, Health::Unhealthy, Health::Unhealthy]
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(seen.lock().unwrap().len(), 4, "renewed");
    bench.end(task).await;
}
