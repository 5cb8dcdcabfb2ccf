//! The example that `gpud custom-plugins` checks without a file: it shows a spec, and each way in which a check can
//! end.

/// Stands for the file's name in messages.
pub const NAME: &str = "built-in example";

/// Five plugins: healthy, not healthy for what was printed, not healthy for a value that was not printed, and one each
/// for the two kinds of exit status.
pub const SPECS: &str = r#"- plugin_name: test-healthy
  plugin_type: component
  run_mode: auto
  timeout: 1m
  interval: 10m
  health_state_plugin:
    steps:
      - name: look
        run_bash_script:
          content_type: plaintext
          script: |
            echo "reading /proc/uptime"
            read -r seconds _ </proc/uptime
            printf '{"status": "good", "uptime": {"seconds": "%s"}}\n' "$seconds"
    parser:
      json_paths:
        - query: $.status
          field: status
          expect:
            regex: '^good$'
        - query: $.uptime.seconds
          field: uptime_seconds

- plugin_name: test-unhealthy
  plugin_type: component
  run_mode: auto
  timeout: 1m
  interval: 10m
  health_state_plugin:
    steps:
      - name: look
        run_bash_script:
          content_type: plaintext
          script: |
            echo '{"status": "bad", "advice": "reboot to load the new driver"}'
    parser:
      json_paths:
        - query: $.status
          field: status
          expect:
            regex: '^good$'
        - query: $.advice
          field: advice
          suggested_actions:
            REBOOT_SYSTEM:
              regex: '(?i)reboot'

- plugin_name: test-unhealthy-with-missing-field
  plugin_type: component
  run_mode: manual
  timeout: 1m
  health_state_plugin:
    steps:
      - name: look
        run_bash_script:
          content_type: plaintext
          script: |
            echo '{"status": "good"}'
    parser:
      json_paths:
        - query: $.status
          field: status
          expect:
            regex: '^good$'
        - query: $.temperature
          field: temperature
          expect:
            regex: '.*'

- plugin_name: exit-0
  plugin_type: component
  run_mode: manual
  timeout: 1m
  health_state_plugin:
    steps:
      - name: end well
        run_bash_script:
          content_type: plaintext
          script: |
            echo "without a parser the exit status decides"
            exit 0

- plugin_name: exit-1
  plugin_type: component
  run_mode: manual
  timeout: 1m
  health_state_plugin:
    steps:
      - name: end badly
        run_bash_script:
          content_type: plaintext
          script: |
            echo "something is wrong" >&2
            exit 1
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::file;

    #[test]
    fn it_has_five_plugins_and_nothing_to_complain_of() {
        let read = file::parse(SPECS.as_bytes(), NAME);
        assert_eq!((&read.problems, &read.warnings), (&vec![], &vec![]));
        assert_eq!(read.duplicates(), []);
        let names: Vec<_> = read.plugins.iter().map(|p| p.component.as_str()).collect();
        assert_eq!(
            names,
            [
                "test-healthy",
                "test-unhealthy",
                "test-unhealthy-with-missing-field",
                "exit-0",
                "exit-1"
            ]
        );
    }
}
