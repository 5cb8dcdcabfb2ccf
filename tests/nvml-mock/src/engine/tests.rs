use super::*;
use crate::scenario::gpu::Health;

fn engine(text: &str) -> Engine {
    Engine::new(Scenario::read("t.yaml", text).unwrap()).unwrap()
}

fn key(name: &'static str, gpu: u32) -> Key {
    Key {
        name,
        gpu: Some(gpu),
        arg: None,
    }
}

/// `ok`, the code, or `hangs`, for each of several calls at times.
fn run(engine: &mut Engine, key: Key, times: &[u64]) -> Vec<String> {
    let say = |decision| match decision {
        Decision::Go(_) => "ok".to_owned(),
        Decision::Fail(code) => code.to_string(),
        Decision::Hang(_) => "hangs".to_owned(),
    };
    times
        .iter()
        .map(|now| say(engine.decide(key, *now)))
        .collect()
}

#[test]
fn faults_by_time_number_gpu_and_argument() {
    const POWER: &str = "nvmlDeviceGetPowerUsage";
    let cases: &[(&str, &[u64], &str)] = &[
        ("error: gpu_is_lost", &[0, 9], "15 15"),
        ("error: 4294967295", &[0], "4294967295"),
        (
            "error: timeout, from_ms: 5, until_ms: 10",
            &[4, 5, 9, 10],
            "ok 10 10 ok",
        ),
        (
            "error: timeout, after_calls: 1, times: 2",
            &[0, 0, 0, 0],
            "ok 10 10 ok",
        ),
        ("error: timeout, gpu: 1", &[0], "10"),
        ("error: timeout, gpu: [0, 2]", &[0], "ok"),
        ("error: timeout, arg: 0", &[0], "ok"),
        ("hang: forever", &[0], "hangs"),
        ("hang_ms: 5", &[0], "hangs"),
        ("error: success", &[0], "0"),
    ];
    for (fault, times, want) in cases {
        let mut engine = engine(&format!(
            "product: h100\nfaults: [{{call: {POWER}, {fault}}}]"
        ));
        assert_eq!(
            run(&mut engine, key(POWER, 1), times).join(" "),
            *want,
            "{fault}"
        );
        assert_eq!(
            run(&mut engine, key("nvmlDeviceGetName", 1), &[0]),
            ["ok"],
            "{fault}"
        );
    }
}

#[test]
fn the_first_fault_that_is_in_force_wins_and_all_count() {
    let text = "product: h100\nfaults:\n - {call: nvmlDeviceGet*, error: 3, times: 1}\n - {call: nvmlDeviceGetName, error: 4, times: 2}";
    assert_eq!(
        run(&mut engine(text), key("nvmlDeviceGetName", 0), &[0, 0, 0]),
        ["3", "4", "ok"]
    );
}

#[test]
fn a_hang_ends_with_its_fault() {
    let mut engine =
        engine("product: h100\nfaults: [{call: nvmlDeviceGetName, hang_ms: 50, error: 10}]");
    let Decision::Hang(hang) = engine.decide(key("nvmlDeviceGetName", 0), 100) else {
        panic!("it must hang")
    };
    assert_eq!(engine.still_hangs(hang, 149), Decision::Hang(hang));
    assert_eq!(engine.still_hangs(hang, 150), Decision::Fail(Code::TIMEOUT));
}

#[test]
fn the_timeline_changes_readings_and_gives_them_back() {
    let text = "product: h100\ngpus: 2\ntimeline:\n - {after_ms: 10, until_ms: 20, gpu: 1, set: {temperature: {gpu: 91}}}\n - {after_ms: 15, gpu: 1, set: {state: lost}}";
    let mut engine = engine(text);
    let mut at = |now, gpu| {
        let node = engine.node(now);
        let gpu = node.gpu(gpu).unwrap();
        (gpu.temperature.gpu.unwrap(), gpu.health())
    };
    assert_eq!(at(9, 1), (29, Health::Ok));
    assert_eq!(at(10, 1), (91, Health::Ok));
    assert_eq!(at(10, 0), (29, Health::Ok));
    assert_eq!(at(19, 1), (91, Health::Lost));
    assert_eq!(at(20, 1), (29, Health::Lost));
}

#[test]
fn a_step_after_a_call_is_seen_by_the_next() {
    let mut engine =
        engine("product: h100\ntimeline: [{after_call: nvmlDeviceGetCount, calls: 2, gpus: 3}]");
    let counts: Vec<usize> = (0..4)
        .map(|_| {
            match engine.decide(
                Key {
                    name: "nvmlDeviceGetCount_v2",
                    gpu: None,
                    arg: None,
                },
                0,
            ) {
                Decision::Go(node) => node.present.len(),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(counts, [8, 8, 3, 3]);
}

#[test]
fn a_missing_function_that_is_called_all_the_same_is_not_found() {
    let mut engine = engine("product: h100\nmissing_symbols: [nvmlDeviceGetMemoryInfo_v2]");
    assert_eq!(
        run(&mut engine, key("nvmlDeviceGetMemoryInfo_v2", 0), &[0]),
        ["13"]
    );
    assert_eq!(
        run(&mut engine, key("nvmlDeviceGetMemoryInfo", 0), &[0]),
        ["ok"]
    );
}

#[test]
fn an_absent_gpu_moves_the_others_up() {
    let mut engine = engine("product: h100\ngpus: 4\ngpu: {1: {state: absent}}");
    assert_eq!(engine.node(0).present, [0, 2, 3]);
}
