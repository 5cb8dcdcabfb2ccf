use super::*;

#[test]
fn every_code_becomes_the_error_that_the_contract_names() {
    let source = |code| {
        Fault::new("nvmlDeviceGetX", code).to_source("GPU 0", Duration::from_secs(2), Some(7))
    };
    let asked = || "nvmlDeviceGetX of GPU 0".to_owned();
    let what = |text: &str| format!("nvmlDeviceGetX of GPU 0: {text}");
    for (code, error) in [
        (3, SourceError::NotSupported(asked())),
        (13, SourceError::NotSupported(asked())),
        (4, SourceError::Denied(asked())),
        (9, SourceError::NotFound(what("Driver Not Loaded"))),
        (
            12,
            SourceError::NotFound(what("NVML Shared Library Not Found")),
        ),
        (15, SourceError::SourceLost(asked())),
        (16, SourceError::NeedsReset(asked())),
        (6, SourceError::Other(what("Not Found"))),
        (25, SourceError::Other(what("Argument version mismatch"))),
        (27, SourceError::Other(what("System is not in ready state"))),
        (999, SourceError::Other(what("Unknown Error"))),
        (12345, SourceError::Other(what("NVML error 12345"))),
    ] {
        assert_eq!(source(code), error, "{code}");
    }
    assert_eq!(
        source(10),
        SourceError::TimedOut {
            what: asked(),
            after: Duration::from_secs(2),
            last_good: Some(7),
        }
    );
}

#[test]
fn words_of_unknown_codes_count() {
    let fault = |text: &str| Fault {
        call: "nvmlDeviceGetX",
        code: 77,
        text: text.to_owned(),
    };
    assert!(fault("The GPU is lost, really").is_lost());
    assert!(fault("a GPU reset is wanted").needs_reset());
    assert!(fault("this is Not Supported on a lost GPU").is_not_supported());
    assert_eq!(
        fault("GPU is lost for good").to_source("GPU 0", Duration::ZERO, None),
        SourceError::SourceLost("nvmlDeviceGetX of GPU 0 (GPU is lost for good)".into())
    );
    assert!(!fault("something else").is_lost());
    assert!(fault("NVIDIA driver not loaded").is_no_driver());
}
