use super::{event, messages, open};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const FOLDER: &str = "GPUD_TEST_STORE_FOLDER";

/// Runs this test binary again with only the test `name`, as a process that can be killed.
fn child(name: &str, folder: &Path) -> Command {
    let module = module_path!().split_once("::").unwrap().1;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            &format!("{module}::{name}"),
            "--ignored",
            "--nocapture",
        ])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

#[test]
#[ignore = "the child of acknowledged_events_survive_kill_9"]
fn child_that_writes_until_it_is_killed() {
    let folder = std::env::var_os(FOLDER).expect("only run by another test");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = open(Path::new(&folder));
        let writers = (0..4).map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 1_u64.. {
                    let text = format!("{writer}-{number}");
                    let rows = vec![event(number, "e", &text)];
                    store.insert_events("c", rows, None).await.unwrap();
                    println!("ack {text}");
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

#[tokio::test]
async fn acknowledged_events_survive_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    for lines in [1, 40, 300] {
        let mut child = child("child_that_writes_until_it_is_killed", folder.path())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut acknowledged = Vec::new();
        let mut line = String::new();
        // Killed in the midst of it; what it printed until then is read to the end.
        let mut killed = false;
        loop {
            line.clear();
            if output.read_line(&mut line).unwrap() == 0 {
                break;
            }
            // The last line may be cut off.
            if line.ends_with('\n')
                && let Some((_, text)) = line.trim_end().split_once("ack ")
            {
                acknowledged.push(text.to_owned());
            }
            if acknowledged.len() >= lines && !killed {
                killed = true;
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(acknowledged.len() >= lines, "the child did not write");
        let store = open(folder.path());
        let stored: std::collections::HashSet<String> =
            messages(&store, "c").await.into_iter().collect();
        for text in acknowledged {
            assert!(stored.contains(&text), "{text} was acknowledged and lost");
        }
        store.checkpoint_and_close().await.unwrap();
    }
}
