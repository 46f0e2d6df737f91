package completion

import (
	"fmt"
	"io"
	"strings"
)

// bashScript is the part that does not depend on the commands. It also works in the
// bash 3.2 of macOS. COMP_WORDBREAKS usually makes "=" a word of its own.
const bashScript = `# bash completion for %[1]s, written by "%[1]s completion bash"
_%[1]s() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local command= flag= flags= words= files= IFS=$' \t\n'
    COMPREPLY=()
    if [[ $cur == "=" ]]; then
        flag=$prev cur=
    elif [[ $prev == "=" ]]; then
        flag=${COMP_WORDS[COMP_CWORD-2]}
    elif [[ $prev == -* ]]; then
        flag=$prev
    fi
    flag=${flag#-}
    ((COMP_CWORD > 1)) && command=${COMP_WORDS[1]}
    case $command in
%[2]s    esac
    case "$command --${flag#-}" in
%[3]s    *)
        [[ $cur == -* ]] && words=$flags files=
        ;;
    esac
    if [[ $files ]]; then
        compopt -o filenames 2>/dev/null
        IFS=$'\n'
        COMPREPLY=($(compgen $files -- "$cur"))
    else
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    fi
}
complete -F _%[1]s %[1]s
`

func bash(w io.Writer, program string, commands []Command) error {
	var perCommand, perFlag strings.Builder
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	fmt.Fprintf(&perCommand, "    '')\n        words=%s\n        ;;\n", quote(strings.Join(names, " ")))
	for _, c := range commands {
		var flags []string
		for _, f := range c.Flags {
			flags = append(flags, "--"+f.Name)
			if !f.Bool {
				fmt.Fprintf(&perFlag, "    %s)\n        %s\n        ;;\n", quote(c.Name+" --"+f.Name), bashValues(f.Values))
			}
		}
		fmt.Fprintf(&perCommand, "    %s)\n        flags=%s\n        %s\n        ;;\n",
			c.Name, quote(strings.Join(flags, " ")), bashValues(c.Args))
	}
	_, err := fmt.Fprintf(w, bashScript, program, &perCommand, &perFlag)
	return err
}

// bashValues returns the assignments that offer v.
func bashValues(v Values) string {
	files := ""
	switch {
	case v.Files:
		files = "-f"
	case v.Folders:
		files = "-d"
	}
	return "words=" + quote(strings.Join(v.Words, " ")) + " files=" + files
}
