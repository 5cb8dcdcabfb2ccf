package wire

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Spec is a script plugin, as written in a spec file and as listed by /v1/plugins.
type Spec struct {
	Name              string          `json:"plugin_name"`
	Type              string          `json:"plugin_type"`
	ComponentList     []string        `json:"component_list,omitempty"`
	RunMode           string          `json:"run_mode"`
	Tags              []string        `json:"tags,omitempty"`
	HealthStatePlugin *Script         `json:"health_state_plugin,omitempty"`
	Timeout           metav1.Duration `json:"timeout"`
	Interval          metav1.Duration `json:"interval"`
}

// Script is what a plugin runs and how its output is read.
type Script struct {
	Steps  []Step  `json:"steps,omitempty"`
	Parser *Parser `json:"parser,omitempty"`
}

// Step is one bash script.
type Step struct {
	Name string `json:"name,omitempty"`
	Bash *Bash  `json:"run_bash_script,omitempty"`
}

// Bash is a script and how it is written down.
type Bash struct {
	ContentType string `json:"content_type"`
	Script      string `json:"script"`
}

// Parser says which values of the output go into extra_info.
type Parser struct {
	JSONPaths []JSONPath `json:"json_paths,omitempty"`
}

// JSONPath is one value of the output.
type JSONPath struct {
	Query string `json:"query"`
	Field string `json:"field"`
}

// Echo is a step that runs one line of bash.
func Echo(name, line string) Step {
	return Step{Name: name, Bash: &Bash{ContentType: "plaintext", Script: line}}
}
