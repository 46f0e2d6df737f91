package completion

import (
	"fmt"
	"io"
	"strings"
)

const zshScript = `#compdef %[1]s
# zsh completion for %[1]s, written by "%[1]s completion zsh"
_%[1]s() {
    if (( CURRENT == 2 )); then
        local -a commands=(
%[2]s        )
        _describe command commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
%[3]s    esac
}
if [[ $funcstack[1] == _%[1]s ]]; then
    _%[1]s "$@"
else
    compdef _%[1]s %[1]s
fi
`

func zsh(w io.Writer, program string, commands []Command) error {
	var names, cases strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&names, "            %s\n", quote(zshEscape.Replace(c.Name)+":"+c.Summary))
		var specs []string
		for _, f := range c.Flags {
			specs = append(specs, zshFlag(f))
		}
		if c.Args.any() {
			specs = append(specs, quote("*:"+zshValues(c.Args)))
		}
		if len(specs) > 0 {
			fmt.Fprintf(&cases, "    %s)\n        _arguments \\\n            %s\n        ;;\n", c.Name, strings.Join(specs, " \\\n            "))
		}
	}
	_, err := fmt.Fprintf(w, zshScript, program, &names, &cases)
	return err
}

// zshEscape escapes the characters that separate the parts of a specification of
// _arguments.
var zshEscape = strings.NewReplacer(`\`, `\\`, ":", `\:`, "[", `\[`, "]", `\]`)

func zshFlag(f Flag) string {
	spec := "--" + f.Name
	if f.Repeated {
		spec = "*" + spec
	}
	if !f.Bool {
		spec += "="
	}
	spec += "[" + zshEscape.Replace(f.Summary) + "]"
	if !f.Bool {
		spec += ":" + zshValues(f.Values)
	}
	return quote(spec)
}

// zshValues returns a message and an action that offers v.
func zshValues(v Values) string {
	switch {
	case v.Files:
		return "file:_files"
	case v.Folders:
		return "folder:_directories"
	case len(v.Words) > 0:
		return "value:(" + zshEscape.Replace(strings.Join(v.Words, " ")) + ")"
	}
	return "value: "
}

func (v Values) any() bool { return v.Files || v.Folders || len(v.Words) > 0 }
