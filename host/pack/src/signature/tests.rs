use proptest::prelude::*;

use super::*;
use crate::content::tests::{MANIFEST, collected, pack};

fn trusted(keys: &[&SecretKey]) -> (tempfile::TempDir, TrustedKeys) {
    let folder = tempfile::tempdir().unwrap();
    for (at, key) in keys.iter().enumerate() {
        fs::write(folder.path().join(format!("{at}.pub")), key.public()).unwrap();
    }
    fs::write(folder.path().join("README"), "not a key").unwrap();
    let keys = TrustedKeys::read(folder.path()).unwrap();
    (folder, keys)
}

#[test]
fn what_was_signed_is_verified_by_the_right_key() {
    let (key, other) = (
        SecretKey::generate().unwrap(),
        SecretKey::generate().unwrap(),
    );
    let mut pack = pack();
    let (_folder, both) = trusted(&[&other, &key]);
    let refusal = |keys: &TrustedKeys, pack: &Pack| keys.verify(pack).unwrap_err().to_string();
    assert!(refusal(&both, &pack).contains("is not signed"));
    pack.sign(&key);
    let signer = both.verify(&pack).unwrap();
    assert!(signer.key.ends_with("1.pub"));
    assert_eq!(signer.comment, "gpud pack acme 1.0.0");

    let (_folder, only_other) = trusted(&[&other]);
    assert!(refusal(&only_other, &pack).contains("by a key that is not trusted"));
    let none = TrustedKeys::read(Path::new("/nonexistent")).unwrap();
    assert!(none.is_empty());
    assert!(
        refusal(&none, &pack)
            .contains("no key is trusted: put the vendor's public key into /nonexistent")
    );

    let mut changed = collected(MANIFEST, b"other code").into_pack(true).unwrap();
    changed.signature.clone_from(&pack.signature);
    assert!(refusal(&both, &changed).contains("its signature is bad"));
    changed.signature = pack
        .signature
        .map(|text| text.replace("acme 1.0.0", "acme 9.0.0"));
    let mut renamed = super::super::content::tests::pack();
    renamed.signature = changed.signature;
    assert!(
        refusal(&both, &renamed).contains("its signature is bad"),
        "the comment is signed as well"
    );
    renamed.signature = Some("text".to_owned());
    assert!(refusal(&both, &renamed).contains("is no signature of minisign"));
}

#[test]
fn a_file_that_is_no_key_stops_everything() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pub"), "hello\nworld\n").unwrap();
    let error = TrustedKeys::read(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("a.pub is no public key of minisign"),
        "{error}"
    );
}

#[test]
fn keys_that_others_can_change_are_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root is held to it");
        return;
    }
    let (folder, _) = trusted(&[&SecretKey::generate().unwrap()]);
    let refusal = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        TrustedKeys::read(folder.path()).unwrap_err().to_string()
    };
    let key = folder.path().join("0.pub");
    assert!(refusal(&key, 0o666).contains("0.pub can be changed by others"));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    for mode in [0o777, 0o1777, 0o770] {
        let message = refusal(folder.path(), mode);
        assert!(message.contains("chmod go-w"), "{mode:o}: {message}");
    }
}

#[test]
fn secret_keys_are_written_and_read() {
    let key = SecretKey::generate().unwrap();
    let read = SecretKey::decode(&key.encode()).unwrap();
    assert_eq!(read.public(), key.public());
    let refusal = |text: &str| SecretKey::decode(text).unwrap_err().to_string();
    assert!(refusal("").contains("no second line"));
    assert!(refusal("a\n!\n").contains("not base64"));
    assert!(refusal("a\nQUJD\n").contains("3 bytes, not 158"));
    let changed = |at: usize, to: u8| {
        let mut bytes = BASE64.decode(key.encode().lines().nth(1).unwrap()).unwrap();
        bytes[at] = to;
        refusal(&format!("c\n{}\n", BASE64.encode(bytes)))
    };
    assert!(changed(2, b'S').contains("it has a password"));
    assert!(changed(0, b'X').contains("another algorithm"));
    let last = key.checksum().last().copied().unwrap();
    assert!(changed(157, last ^ 1).contains("its checksum is wrong"));
    let public = key.pair.public_key().as_ref().get(6).copied().unwrap();
    assert!(changed(100, public ^ 1).contains("its checksum is wrong"));
    let mut bytes = BASE64.decode(key.encode().lines().nth(1).unwrap()).unwrap();
    bytes[126..].fill(0);
    let of_minisign = SecretKey::decode(&format!("c\n{}\n", BASE64.encode(bytes))).unwrap();
    assert_eq!(of_minisign.public(), key.public());
    assert_eq!(format!("{key:?}"), "SecretKey");
}

proptest! {
    #[test]
    fn any_text_is_a_key_or_refused(text in "[a-zA-Z0-9+/=\n :]{0,300}") {
        let _ = SecretKey::decode(&text);
    }

    #[test]
    fn a_signature_of_any_text_with_any_comment_fits(content in ".{0,100}", comment in ".{0,40}") {
        let key = SecretKey::generate().unwrap();
        let public = PublicKey::decode(&key.public()).unwrap();
        let signature = Signature::decode(&key.sign(content.as_bytes(), &comment)).unwrap();
        prop_assert!(public.verify(content.as_bytes(), &signature, false).is_ok());
    }
}

/// Who makes a key chooses its number.
#[test]
fn a_key_with_the_number_of_another_one_hides_nothing() {
    let key = SecretKey::generate().unwrap();
    let same_number = SecretKey::of([7; 32], key.number).unwrap();
    let mut pack = pack();
    pack.sign(&key);
    let (_folder, both) = trusted(&[&same_number, &key]);
    assert!(both.verify(&pack).unwrap().key.ends_with("1.pub"));
    let (_folder, only_other) = trusted(&[&same_number]);
    let refusal = only_other.verify(&pack).unwrap_err();
    assert!(matches!(refusal, SignatureError::Bad(_)), "{refusal}");
}

/// The daemon looks for it from another working folder.
#[test]
fn a_key_is_noted_with_its_whole_path() {
    let key = SecretKey::generate().unwrap();
    let (folder, _) = trusted(&[&key]);
    let up = "../".repeat(std::env::current_dir().unwrap().components().count());
    let relative = Path::new(&up).join(folder.path().strip_prefix("/").unwrap());
    let mut pack = pack();
    pack.sign(&key);
    let signer = TrustedKeys::read(&relative).unwrap().verify(&pack).unwrap();
    assert!(Path::new(&signer.key).is_absolute(), "{}", signer.key);
}
