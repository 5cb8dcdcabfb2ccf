use std::sync::{Mutex, mpsc};

use super::*;

/// Refuses writes while it is set to, and holds each write until it is let go.
#[derive(Clone)]
struct Slow {
    refuse: Arc<Mutex<bool>>,
    gate: Arc<Mutex<mpsc::Receiver<()>>>,
    text: Arc<Mutex<String>>,
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.gate.lock().unwrap().recv();
        if *self.refuse.lock().unwrap() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let text = String::from_utf8_lossy(bytes);
        self.text.lock().unwrap().push_str(&text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn slow() -> (Slow, mpsc::Sender<()>) {
    let (open, gate) = mpsc::channel();
    let slow = Slow {
        refuse: Arc::default(),
        gate: Arc::new(Mutex::new(gate)),
        text: Arc::default(),
    };
    (slow, open)
}

#[test]
fn a_writer_that_hangs_costs_lines_and_no_time() {
    let (out, open) = slow();
    let writer = Writer::start(Box::new(out.clone())).unwrap();
    let sink = writer.sink();
    // One is being written, and the queue holds the rest.
    for number in 0..QUEUE + 100 {
        sink.send(format!("{number}\n"));
    }
    // With the gate gone, every write goes through.
    drop(open);
    drop(writer);
    let text = out.text.lock().unwrap().clone();
    let (reports, lines): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('{'));
    let lost = reports.iter().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["lines"].as_u64().unwrap()
    });
    let lost = usize::try_from(lost.sum::<u64>()).unwrap();
    assert!(lost >= 99, "{lost}");
    assert_eq!((lines.len() + lost, lines[0]), (QUEUE + 100, "0"));
}

#[test]
fn lines_that_could_not_be_written_are_reported_later() {
    let (out, open) = slow();
    drop(open);
    *out.refuse.lock().unwrap() = true;
    let writer = Writer::start(Box::new(out.clone())).unwrap();
    let sink = writer.sink();
    sink.send("a\n".to_owned());
    sink.send("b\n".to_owned());
    let (done, finished) = sync_channel(1);
    sink.queue.send(Message::Flush(done)).unwrap();
    finished.recv().unwrap();
    *out.refuse.lock().unwrap() = false;
    sink.send("c\n".to_owned());
    drop(writer);
    let text = out.text.lock().unwrap().clone();
    let (loss, rest) = text.split_once('\n').unwrap();
    assert!(loss.contains("\"lines\":2"), "{loss}");
    assert_eq!(rest, "c\n");
}
