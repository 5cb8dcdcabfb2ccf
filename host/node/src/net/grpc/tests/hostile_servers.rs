//! Servers that send too much, too slowly, or nonsense.

use super::*;

#[tokio::test]
async fn messages_are_bounded() {
    for (size, fits) in [(99, true), (100, true), (101, false), (200_000, false)] {
        let body = message::framed(&vec![1; size]).to_vec();
        let head = grpc(200, "application/grpc");
        let answer = answered(head, body, Some(trailers("0"))).await;
        match answer {
            Ok(reply) => assert!(fits && reply.message.len() == size),
            Err(SourceError::TooLarge {
                size: announced,
                limit: 100,
                ..
            }) => {
                assert!(!fits && announced == size as u64);
            }
            other => panic!("{size}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_body_without_end_ends_the_call() {
    let (place, listener) = place();
    let served = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut connection = server::handshake(stream).await.unwrap();
        let (_, mut respond) = connection.accept().await.unwrap().unwrap();
        let head = grpc(200, "application/grpc");
        let mut stream = respond.send_response(head, false).unwrap();
        // Announces the most that is allowed, and goes on behind it.
        stream
            .send_data(Bytes::from_static(b"\0\0\0\0\x64"), false)
            .unwrap();
        let flood = async move {
            loop {
                stream.reserve_capacity(10_000);
                match poll_fn(|context| stream.poll_capacity(context)).await {
                    Some(Ok(room)) => {
                        if stream.send_data(vec![0; room].into(), false).is_err() {
                            return;
                        }
                    }
                    _ => return,
                }
            }
        };
        tokio::select! {
            () = flood => {}
            () = async { while let Some(Ok(_)) = connection.accept().await {} } => {}
        }
    });
    let answer = unary(&place.socket, &call()).await;
    let odd = |text: &String| text.contains("more than one message");
    assert!(
        matches!(&answer, Err(SourceError::Other(text)) if odd(text)),
        "{answer:?}"
    );
    served.await.unwrap();
}

#[tokio::test]
async fn floods_below_http_end_the_call() {
    let settings = frame(SETTINGS, 0, 0, b"");
    // PING, SETTINGS, empty DATA of a stream that is not there, WINDOW_UPDATE, and a frame that nobody knows.
    for flood in [
        frame(6, 0, 0, &[0; 8]),
        frame(SETTINGS, 0, 0, b""),
        frame(0, 0, 1, b""),
        frame(8, 0, 0, &[0, 0, 0, 1]),
        frame(0xee, 0, 0, &[0; 1000]),
    ] {
        let bytes = [settings.clone(), flood.repeat(100)].concat();
        let again = [bytes, flood.clone()].concat();
        let answer = raw(again, true, false, &call()).await;
        let refused = matches!(
            answer,
            Err(SourceError::TooLarge { .. } | SourceError::Other(_))
        );
        assert!(refused, "{:?}: {answer:?}", flood.get(3));
    }
}

#[tokio::test]
async fn too_many_headers_are_an_error() {
    let (place, listener) = place();
    let _served = serve(listener, |mut respond| {
        let mut head = grpc(200, "application/grpc");
        for number in 0..2_000 {
            let name: http::HeaderName = format!("x-{number}").parse().unwrap();
            head.headers_mut()
                .insert(name, HeaderValue::from_static("1"));
        }
        let _ = respond.send_response(head, false);
    });
    let answer = unary(&place.socket, &call()).await;
    assert!(matches!(answer, Err(SourceError::Other(_))), "{answer:?}");
}

#[tokio::test]
async fn silence_ends_at_the_deadline() {
    let impatient = UnaryCall {
        deadline: Duration::from_millis(100),
        ..call()
    };
    // Says nothing; says hello and no more; says a byte of a frame and no more.
    for bytes in [Vec::new(), frame(SETTINGS, 0, 0, b""), vec![0]] {
        let asked = Instant::now();
        let answer = raw(bytes, false, true, &impatient).await;
        assert!(
            matches!(answer, Err(SourceError::TimedOut { .. })),
            "{answer:?}"
        );
        assert!(asked.elapsed() < Duration::from_secs(10));
    }
}

#[tokio::test]
async fn a_drip_does_not_put_the_deadline_off() {
    let (place, listener) = place();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let ping = frame(6, 0, 0, &[0; 8]);
        let _ = stream.write_all(&frame(SETTINGS, 0, 0, b"")).await;
        for byte in ping.iter().cycle() {
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let impatient = UnaryCall {
        deadline: Duration::from_millis(200),
        ..call()
    };
    let answer = unary(&place.socket, &impatient).await;
    assert!(
        matches!(answer, Err(SourceError::TimedOut { .. })),
        "{answer:?}"
    );
    served.await.unwrap();
}

#[tokio::test]
async fn nonsense_and_hanging_up_are_errors() {
    let settings = frame(SETTINGS, 0, 0, b"");
    let reset = frame(3, 0, 1, &[0, 0, 0, 2]);
    let away = frame(7, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 2]);
    for bytes in [
        Vec::new(),
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        b"<html><body>no</body></html>".repeat(50),
        vec![0xff; 5_000],
        settings.clone(),
        [settings.clone(), away].concat(),
        [settings.clone(), reset].concat(),
        // HEADERS whose compression is nonsense.
        [settings, frame(1, 4, 1, &[0xff; 60])].concat(),
    ] {
        let answer = raw(bytes.clone(), false, false, &call()).await;
        let other = matches!(answer, Err(SourceError::Other(_)));
        assert!(other, "{:?}: {answer:?}", String::from_utf8_lossy(&bytes));
    }
}
