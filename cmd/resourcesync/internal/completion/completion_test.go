package completion

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

var commands = []Command{
	{
		Name: "paint", Summary: "paint a wall: [all] it's one's own", Args: Values{Folders: true},
		Flags: []Flag{
			{Name: "all", Summary: "Paint $HOME", Bool: true},
			{Name: "colour", Summary: "The [colour]: it's `one`", Values: Values{Words: []string{"white", "red", "off-white,red"}}},
			{Name: "from", Summary: "A file \\", Repeated: true, Values: Values{Files: true}},
			{Name: "name", Summary: "A name"},
		},
	},
	{Name: "plan", Summary: "plan", Args: Values{Words: []string{"garden", "house"}}},
	{Name: "version", Summary: "version"},
}

// script writes the script for a shell to a file, and returns its path.
func script(t *testing.T, shell string) string {
	t.Helper()
	needs.Program(t, shell)
	var b bytes.Buffer
	if err := Write(&b, shell, "prog", commands); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// folder returns a folder with two folders and a file.
func folder(t *testing.T) string {
	t.Helper()
	in := t.TempDir()
	for _, name := range []string{"north wall", "south"} {
		if err := os.Mkdir(filepath.Join(in, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(in, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return in
}

// A typist types into an interactive shell in which prog prints its arguments.
type typist struct {
	terminal *os.File
	seen     []byte
}

func newTypist(t *testing.T, setup string, shell ...string) *typist {
	t.Helper()
	rc := t.TempDir()
	setup += "\nprog() { printf '<%s>' \"$@\"; echo; }\ncd '" + folder(t) + "'\nPS1='READY'\n"
	for _, name := range []string{".zshrc", "bashrc"} {
		if err := os.WriteFile(filepath.Join(rc, name), []byte(setup), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range shell {
		shell[i] = strings.ReplaceAll(shell[i], "RC", rc)
	}
	cmd := exec.CommandContext(t.Context(), shell[0], shell[1:]...)
	cmd.Env = append(os.Environ(), "ZDOTDIR="+rc, "TERM=dumb", "HISTFILE=", "INPUTRC=/dev/null", "LC_ALL=C.UTF-8")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	time.AfterFunc(time.Minute, func() { f.Close() })
	y := &typist{terminal: f}
	y.await(t, "READY")
	return y
}

// await reads until pattern matches, and returns the match.
func (y *typist) await(t *testing.T, pattern string) string {
	t.Helper()
	p := regexp.MustCompile(pattern)
	buf := make([]byte, 4096)
	for {
		if at := p.FindIndex(y.seen); at != nil {
			found := string(y.seen[at[0]:at[1]])
			y.seen = y.seen[at[1]:]
			return found
		}
		n, err := y.terminal.Read(buf)
		if err != nil {
			t.Fatalf("not %q: %v:\n%s", pattern, err, y.seen)
		}
		y.seen = append(y.seen, buf[:n]...)
	}
}

// test types lines and checks the arguments that prog gets.
func (y *typist) test(t *testing.T, want map[string]string) {
	t.Helper()
	for typed, want := range want {
		fmt.Fprint(y.terminal, typed+"\r")
		if got := strings.TrimSpace(y.await(t, `\n<.*>`)); got != want {
			t.Errorf("%q: prog gets %s, want %s", typed, got, want)
		}
		y.await(t, "READY")
	}
}

func TestBash(t *testing.T) {
	y := newTypist(t, "source '"+script(t, "bash")+"'", "bash", "--noprofile", "--rcfile", "RC/bashrc", "-i")
	y.test(t, map[string]string{
		"prog pai\t":                      "<paint>",
		"prog v\t":                        "<version>",
		"prog plan h\t":                   "<plan><house>",
		"prog paint --al\t":               "<paint><--all>",
		"prog paint --all s\t":            "<paint><--all><south/>",
		"prog paint no\t":                 "<paint><north wall/>",
		"prog paint --co\tw\t":            "<paint><--colour><white>",
		"prog paint -colour r\t":          "<paint><-colour><red>",
		"prog paint --colour=of\t":        "<paint><--colour=off-white,red>",
		"prog paint --colour=\t\tw\t s\t": "<paint><--colour=white><south/>",
		"prog paint --from not\t":         "<paint><--from><notes.txt>",
		"prog paint --name n\t":           "<paint><--name><n>",
		"prog version n\t":                "<version><n>",
	})
}

func TestZsh(t *testing.T) {
	y := newTypist(t, "autoload -U compinit; compinit -u -D; unsetopt zle_bracketed_paste\nsource '"+script(t, "zsh")+"'", "zsh", "-i")
	y.test(t, map[string]string{
		"prog pai\t":               "<paint>",
		"prog v\t":                 "<version>",
		"prog plan h\t":            "<plan><house>",
		"prog paint --al\t":        "<paint><--all>",
		"prog paint --all s\t":     "<paint><--all><south>",
		"prog paint nor\t":         "<paint><north wall>",
		"prog paint --co\tw\t":     "<paint><--colour=white>",
		"prog paint --colour r\t":  "<paint><--colour><red>",
		"prog paint --colour=of\t": "<paint><--colour=off-white,red>",
		"prog paint --from not\t":  "<paint><--from><notes.txt>",
		"prog paint --name n\t":    "<paint><--name><n>",
	})
}

func TestFish(t *testing.T) {
	path := script(t, "fish")
	in := folder(t)
	for typed, want := range map[string]string{
		"prog pai":               "paint\tpaint a wall: [all] it's one's own\n",
		"prog plan h":            "house\n",
		"prog paint --co":        "--colour\tThe [colour]: it's `one`\n",
		"prog paint --colour w":  "white\tThe [colour]: it's `one`\n",
		"prog paint --colour=r":  "--colour=red\tThe [colour]: it's `one`\n",
		"prog paint --al":        "--all\tPaint $HOME\n",
		"prog paint --from not":  "notes.txt\n",
		"prog paint sou":         "south/\tDirectory\n",
		"prog version --co":      "",
		"prog paint --name nort": "",
	} {
		cmd := exec.CommandContext(t.Context(), "fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", path, typed)
		cmd.Dir, cmd.Env = in, append(os.Environ(), "HOME="+in, "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%q: %v, %q, want %q", typed, err, out, want)
		}
	}
}

func TestWriteUnknownShell(t *testing.T) {
	if err := Write(&bytes.Buffer{}, "csh", "prog", commands); err == nil || !strings.Contains(err.Error(), "bash, fish, zsh") {
		t.Error(err)
	}
}
