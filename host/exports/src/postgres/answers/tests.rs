use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

fn message(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).unwrap();
    [&[tag][..], &length.to_be_bytes(), content].concat()
}

#[test]
fn a_question_for_the_password_is_seen_wherever_reads_end() {
    let notice = message(b'N', b"R\0\0\0\x08\0\0\0\x03");
    let question = message(AUTHENTICATION, &3_u32.to_be_bytes());
    let salted = message(AUTHENTICATION, &[0, 0, 0, 5, 0, 0, 0, 3]);
    let short = message(AUTHENTICATION, b"");
    for (messages, expected) in [
        (vec![&notice, &salted, &short], false),
        (vec![&question], true),
        (vec![&notice, &salted, &short, &question], true),
    ] {
        let sent: Vec<u8> = messages.into_iter().flatten().copied().collect();
        for size in [1, 2, 3, 7, 1000] {
            let mut watch = ClearTextWatch::default();
            let seen = sent.chunks(size).any(|read| watch.sees_question(read));
            assert_eq!(seen, expected, "{size}");
        }
    }
}

#[tokio::test]
async fn answers_have_an_end_until_more_is_sent() {
    let (near, mut far) = tokio::io::duplex(2 * MAX_ANSWERS);
    let mut limited = LimitedConnection::new(near, ClearText::Allowed);
    let mut buffer = vec![0; MAX_ANSWERS];
    for _ in 0..3 {
        limited.write_all(b"question").await.unwrap();
        far.write_all(&vec![b'x'; MAX_ANSWERS]).await.unwrap();
        limited.read_exact(&mut buffer).await.unwrap();
    }
    far.write_all(b"x").await.unwrap();
    let error = limited.read_u8().await.unwrap_err();
    assert!(error.to_string().contains("more than"), "{error}");
}
