use std::sync::mpsc;

use super::*;

/// Name servers that answer when they are let, and the names that were asked for.
fn slow() -> (Names, mpsc::Sender<()>, Arc<Mutex<Vec<String>>>) {
    let (let_go, may_go) = mpsc::channel::<()>();
    let may_go = Mutex::new(may_go);
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let names = Names::with(move |host| {
        seen.lock().unwrap().push(host.to_owned());
        // It ends with the test at the latest.
        let _ = may_go.lock().unwrap().recv();
        Ok(vec![IpAddr::from([192, 0, 2, 1])])
    });
    (names, let_go, asked)
}

fn no_answer(host: &str) -> NameError {
    NameError::NoAnswer {
        host: host.to_owned(),
    }
}

#[tokio::test]
async fn an_address_is_not_looked_up() {
    let names = Names::with(|host| panic!("{host} was looked up"));
    assert_eq!(
        names.addresses("192.0.2.7").await,
        Ok(vec![IpAddr::from([192, 0, 2, 7])])
    );
    assert_eq!(names.addresses("::1").await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_wrong_is_said_with_the_name() {
    let names = Names::with(|host| match host {
        "empty.example" => Ok(Vec::new()),
        _ => Err(io::Error::other("Name or service not known")),
    });
    let problem = names.addresses("gone.example").await.unwrap_err();
    assert_eq!(
        problem.to_string(),
        "gone.example cannot be looked up: Name or service not known; look at the name, and at the name servers in \
         /etc/resolv.conf"
    );
    let problem = names.addresses("empty.example").await.unwrap_err();
    assert!(
        problem.to_string().contains("it has no address"),
        "{problem}"
    );
    assert!(lock(&names.running).is_empty(), "each try asks again");
}

#[tokio::test(start_paused = true)]
async fn tries_while_a_look_up_hangs_start_no_further_one() {
    let (names, _let_go, asked) = slow();
    for _ in 0..100 {
        let answer = names.addresses("slow.example").await;
        assert_eq!(answer, Err(no_answer("slow.example")));
    }
    assert_eq!(lock(&names.running).len(), 1);
    assert!(asked.lock().unwrap().len() <= 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_is_for_the_next_try() {
    let (names, let_go, asked) = slow();
    let late = names.addresses("slow.example").await;
    assert_eq!(late, Err(no_answer("slow.example")));
    let_go.send(()).unwrap();
    while lock(&names.running)["slow.example"].ended.is_none() {
        thread::yield_now();
    }
    let next = names.addresses("slow.example").await;
    assert_eq!(next, Ok(vec![IpAddr::from([192, 0, 2, 1])]));
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert!(lock(&names.running).is_empty(), "an answer is used once");
}

#[tokio::test(start_paused = true)]
async fn look_ups_that_hang_are_bounded() {
    let (names, _let_go, _) = slow();
    for number in 0..MOST {
        let host = format!("{number}.example");
        assert_eq!(names.addresses(&host).await, Err(no_answer(&host)));
    }
    let problem = names.addresses("one-more.example").await.unwrap_err();
    assert!(
        problem.to_string().contains("one-more.example"),
        "{problem}"
    );
    assert!(matches!(problem, NameError::TooMany { .. }));
    assert_eq!(names.addresses("192.0.2.7").await.unwrap().len(), 1);
}

#[tokio::test]
async fn this_machine_is_found() {
    let found = Names::default().addresses("localhost").await.unwrap();
    assert!(found.iter().all(IpAddr::is_loopback), "{found:?}");
}
