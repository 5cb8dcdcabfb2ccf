use super::*;
use crate::container::ContainerIds;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, GPU_1, actions, and, context, data, gpu, metrics, only_state, seen,
};
use gpud_sdk::RepairAction;
use gpud_sdk::types::TimeoutInfo;

fn process(pid: u32) -> Process {
    Process {
        pid,
        used_memory: Some(4 << 30),
        used_percent: 97,
        facts: Facts {
            status: "running",
            zombie: false,
            arguments: vec!["python3".into(), "train.py".into()],
            bad_variables: [("CUDA_PROFILE", "1".to_owned())].into(),
            created: 1_740_801_234,
            home: ContainerIds::default(),
        },
    }
}

fn reading(processes: Vec<Process>) -> Reading {
    Reading {
        processes: Some(processes),
        knows_use: true,
    }
}

fn unknown() -> AccessError {
    AccessError::Other("nvmlDeviceGetComputeRunningProcesses_v3 of GPU 1: Unknown Error".into())
}

#[test]
fn processes_by_gpu() {
    let idle = Process {
        pid: 7,
        ..Process::default()
    };
    let (report, failures) = evaluate(
        &context(),
        &seen([
            reading(vec![process(42), idle]),
            Reading::default(),
            reading(vec![]),
        ]),
        3,
    );
    assert_eq!(failures, 0);
    let state = only_state(&report);
    assert_eq!(state.health, Health::Healthy);
    assert_eq!(
        state.reason,
        "all 3 GPU(s) were checked, no process issue found"
    );
    let uuid_2 = gpu(2).uuid;
    assert_eq!(
        data(&report),
        format!(
            concat!(
                r#"{{"processes":[{{"uuid":"{0}","bus_id":"0000:0f:00.0","running_processes":["#,
                r#"{{"pid":42,"status":["running"],"zombie_status":false,"bad_env_vars_for_cuda":{{"CUDA_PROFILE":"1"}},"cmd_args":["python3","train.py"],"create_time":1740801234,"gpu_used_percent":97,"gpu_used_memory_bytes":4294967296,"gpu_used_memory_bytes_humanized":"4.0 GiB"}},"#,
                r#"{{"pid":7,"status":[],"zombie_status":false,"bad_env_vars_for_cuda":{{}},"cmd_args":[],"create_time":0,"gpu_used_percent":0,"gpu_used_memory_bytes":null,"gpu_used_memory_bytes_humanized":"unknown"}}"#,
                r#"],"get_compute_running_processes_supported":true,"get_process_utilization_supported":true}},"#,
                r#"{{"uuid":"{1}","bus_id":"0000:1f:00.0","running_processes":null,"get_compute_running_processes_supported":false,"get_process_utilization_supported":false}},"#,
                r#"{{"uuid":"{2}","bus_id":"0000:2f:00.0","running_processes":null,"get_compute_running_processes_supported":true,"get_process_utilization_supported":true}}]}}"#
            ),
            GPU_0, GPU_1, uuid_2
        )
    );
    assert_eq!(
        metrics(&report),
        [
            (RUNNING, GPU_0, 2.0),
            (RUNNING, GPU_1, 0.0),
            (RUNNING, &*uuid_2, 0.0)
        ]
    );
}

#[test]
fn containers_and_pods_are_named() {
    let mut contained = process(42);
    contained.facts.home = ContainerIds {
        container: Some("c0ffee".into()),
        pod: Some("0f1e".into()),
    };
    let (report, _) = evaluate(
        &context(),
        &seen([reading(vec![contained, process(43)])]),
        0,
    );
    let shown: serde_json::Value = serde_json::from_str(data(&report)).unwrap();
    let processes = &shown["processes"][0]["running_processes"];
    assert_eq!(processes[0]["container_id"], "c0ffee");
    assert_eq!(processes[0]["pod_uid"], "0f1e");
    assert_eq!(processes[0]["gpu_used_memory_bytes"], 4_294_967_296_u64);
    assert!(processes[1].get("container_id").is_none());
    assert!(processes[1].get("pod_uid").is_none());
}

#[test]
fn five_failures_in_a_row() {
    let failing = || and(seen([reading(vec![])]), unknown());
    let mut before = 0;
    for (failures, health, reason) in [
        (
            1,
            Health::Healthy,
            "error getting processes (detected 1/5 consecutive checks)",
        ),
        (
            2,
            Health::Healthy,
            "error getting processes (detected 2/5 consecutive checks)",
        ),
        (
            3,
            Health::Healthy,
            "error getting processes (detected 3/5 consecutive checks)",
        ),
        (
            4,
            Health::Healthy,
            "error getting processes (detected 4/5 consecutive checks)",
        ),
        (
            5,
            Health::Unhealthy,
            "error getting processes (failed continuously for 5 checks)",
        ),
        (
            5,
            Health::Unhealthy,
            "error getting processes (failed continuously for 5 checks)",
        ),
    ] {
        let (report, now) = evaluate(&context(), &failing(), before);
        let state = only_state(&report);
        assert_eq!(
            (now, &state.health, state.reason.as_str()),
            (failures, &health, reason)
        );
        assert!(state.error.as_ref().unwrap().contains("Unknown Error"));
        assert_eq!(actions(&report).1, []);
        assert_eq!(metrics(&report), [(RUNNING, GPU_0, 0.0)]);
        before = now;
    }
    let (_, now) = evaluate(&context(), &seen([reading(vec![])]), before);
    assert_eq!(now, 0, "a good check clears it");
    let denied = and(seen([reading(vec![])]), AccessError::Denied("x".into()));
    let (report, _) = evaluate(&context(), &denied, 4);
    assert_eq!(only_state(&report).health, Health::Unhealthy);
}

#[test]
fn a_lost_gpu_is_reported_at_once() {
    for (error, reason) in [
        (AccessError::SourceLost("x".into()), "GPU lost"),
        (AccessError::NeedsReset("x".into()), "GPU requires reset"),
    ] {
        let (report, failures) = evaluate(&context(), &and(seen([reading(vec![])]), error), 4);
        let state = only_state(&report);
        assert_eq!((failures, state.reason.as_str()), (0, reason));
        assert_eq!(state.health, Health::Unhealthy);
        assert_eq!(
            actions(&report),
            (reason, [RepairAction::RebootSystem].as_slice())
        );
    }
}

#[test]
fn a_gpu_that_hangs_is_reported_at_once() {
    let hanging = AccessError::TimedOut(TimeoutInfo {
        what: "x".into(),
        after_ms: 65_000,
        last_good: None,
    });
    let (report, failures) = evaluate(&context(), &and(seen([reading(vec![])]), hanging), 0);
    let state = only_state(&report);
    assert_eq!((failures, &state.health), (0, &Health::Unhealthy));
    assert!(
        state.reason.contains("has not answered for 65 s"),
        "{}",
        state.reason
    );
}

#[test]
fn many_long_command_lines_fit() {
    let long = |pid| {
        let mut process = process(pid);
        process.facts.arguments = vec!["ä".repeat(1_000); 40];
        process.facts.bad_variables = [("CUDA_PROFILE", "x".repeat(5_000))].into();
        process
    };
    for count in [1, 10, 100, 1_000] {
        let (report, _) = evaluate(
            &context(),
            &seen([reading((0..count).map(long).collect())]),
            0,
        );
        let data = data(&report);
        assert!(data.len() <= MAX_DATA && data.starts_with(r#"{"processes":[{"uuid""#));
        assert_eq!(metrics(&report), [(RUNNING, GPU_0, f64::from(count))]);
    }
}
