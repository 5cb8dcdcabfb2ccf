use super::*;

#[test]
fn an_archive_is_made_once_and_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("archive");
    let components = ["(component)", "(component (core module))"];
    let components = components.map(|text| wat::parse_str(text).unwrap());
    let components: Vec<&[u8]> = components.iter().map(Vec::as_slice).collect();
    let first = compile(&components, None, &file).unwrap();
    assert_eq!((first.components, first.compiled), (2, 2));
    std::fs::write(&file, &first.archive).unwrap();
    let second = compile(&components, None, &file).unwrap();
    assert_eq!((second.components, second.compiled), (2, 0));
    assert!(first.archive == second.archive);

    let archive = Archive::open(Parts::open(&file).unwrap()).unwrap().unwrap();
    let engine = engine::for_target(engine::HOST_TARGET).unwrap();
    for wasm in components {
        let code = archive
            .code(cache::key(&engine, Wasm::Bytes(wasm)))
            .unwrap();
        assert!(code.is_some_and(|code| !code.is_empty()));
    }
}

#[test]
fn what_cannot_be_compiled_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = |components: &[&[u8]], target| {
        let compiled = compile(components, target, folder.path());
        compiled.err().unwrap()
    };
    assert!(error(&[b"no component"], None).contains("cannot be compiled"));
    let of_target = error(&[], Some("no-such-machine"));
    assert!(of_target.contains("no-such-machine"), "{of_target}");
}
