package docs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// program is the program, if a test has built it.
var program []byte

// clone copies the files that git would commit into a new folder, as a fresh clone has them.
func clone(t *testing.T) string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name := range strings.SplitSeq(strings.Trim(string(names), "\x00"), "\x00") {
		from, to := filepath.Join(root, name), filepath.Join(folder, name)
		info, err := os.Lstat(from)
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted and not yet committed
		}
		if err := copyFile(from, to, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if program == nil {
			program, _ = os.ReadFile(filepath.Join(folder, "resourcesync"))
		}
	})
	return folder
}

func copyFile(from, to string, mode fs.FileMode) error {
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o777)
	}
	if err == nil {
		err = os.WriteFile(to, text, mode.Perm())
	}
	return err
}

// A buffer collects the output of a program that runs.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// shell returns a command for bash in a folder, with a cache folder of its own. What it compiles
// does not depend on the folder, so that other clones find it in the build cache.
func shell(t *testing.T, folder, command string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", command)
	cmd.Dir = folder
	if program != nil && strings.HasPrefix(command, "go build -o resourcesync ") { // need not link it again
		if err := os.WriteFile(filepath.Join(folder, "resourcesync"), program, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "env", "GOCACHE", "GOFLAGS").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, flags, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(folder, ".cache"), "GOCACHE="+cache,
		"GOFLAGS="+flags+" -trimpath -ldflags=-s", "CGO_ENABLED=0")
	return cmd
}

// start runs a command until the test ends, and waits until it has printed what it should.
func start(t *testing.T, folder, command string, done func(output string) bool) {
	t.Helper()
	cmd := shell(t, folder, "exec "+command)
	var output buffer
	cmd.Stdout = &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	})
	for end := time.Now().Add(needs.Patience); !done(output.String()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s has printed\n%s", command, output.String())
		}
	}
}

// matcher returns a pattern for the output that a document shows. … stands for any text in
// a line or, alone in its line, for any lines.
func matcher(shown string) *regexp.Regexp {
	pattern := regexp.QuoteMeta(shown)
	pattern = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(pattern, `(?:.*\n)*`)
	return regexp.MustCompile(`^` + strings.ReplaceAll(pattern, "…", `.*`) + `$`)
}

// typeCommands types the commands of a document, and compares the output with what the
// document shows. It returns their number. Only what replace replaces is another text.
func typeCommands(t *testing.T, folder, address string, all []block, replace *strings.Replacer) (commands int) {
	t.Helper()
	for i, b := range all {
		if b.language != "sh" || strings.HasPrefix(b.marker, notRun) {
			continue
		}
		commands++
		command := replace.Replace(strings.TrimSpace(b.text))
		shown := ""
		if i+1 < len(all) && all[i+1].language != "sh" {
			shown = replace.Replace(all[i+1].text)
		}
		want := matcher(shown)
		if b.marker == "keeps running" {
			start(t, folder, command+" --listen "+address, want.MatchString)
			continue
		}
		output, err := shell(t, folder, command).Output()
		// A busy machine may need longer than the reader's: repeat what reads.
		for end := time.Now().Add(needs.Patience); err == nil && !want.Match(output) && time.Now().Before(end); {
			output, err = shell(t, folder, "sleep 0.2; "+command[strings.LastIndex(command, ";")+1:]).Output()
		}
		if err != nil || !want.Match(output) {
			if failed, ok := errors.AsType[*exec.ExitError](err); ok {
				output = append(output, failed.Stderr...)
			}
			t.Fatalf("%s:%d: %s: %v\n%s\nthe document shows\n%s", b.file, b.line, command, err, output, shown)
		}
	}
	return commands
}

// TestQuickstart types what docs/quickstart.md says, in a fresh clone, and compares the
// output with what it shows. Only the address of the Source is another one.
func TestQuickstart(t *testing.T) {
	needs.Time(t)
	needs.Program(t, "git")
	needs.Program(t, "bash")
	needs.Program(t, "curl")
	const said = "127.0.0.1:8080"
	folder, address := clone(t), needs.Address(t)
	all := blocks(t, "docs/quickstart.md")
	commands := typeCommands(t, folder, address, all, strings.NewReplacer(said, address))
	if commands == 0 || commands > 5 {
		t.Errorf("%d commands, want at most five", commands)
	}
	entry := all[len(all)-1]
	list, err := shell(t, folder, "curl -s http://"+address+"/resourcesync/changelist.xml").Output()
	if want := matcher("…\n" + strings.ReplaceAll(entry.text, said, address) + "</urlset>\n"); err != nil || entry.language != "xml" || !want.Match(list) {
		t.Errorf("%s:%d: the Change List is, %v\n%s\nthe document shows\n%s", entry.file, entry.line, err, list, entry.text)
	}
	t.Run("README", func(t *testing.T) { readme(t, folder) })
	t.Run("what harvesters type", func(t *testing.T) { curl(t, folder, "http://"+address) })
}

// curl runs the blocks of other documents that only use curl, with the address of the Source.
func curl(t *testing.T, folder, site string) {
	n := 0
	for _, b := range blocks(t, documents(t)...) {
		if b.language != "sh" || b.marker != "" || b.file == "docs/quickstart.md" || programs(b.text)[0] != "curl" {
			continue
		}
		n++
		script := "curl() { command curl --fail --silent --show-error \"$@\"; }\n" + strings.ReplaceAll(b.text, "https://files.example.org", site)
		if output, err := shell(t, folder, script).CombinedOutput(); err != nil {
			t.Errorf("%s:%d: %v\n%s", b.file, b.line, err, output)
		}
	}
	if n < 2 {
		t.Errorf("%d blocks found", n)
	}
}

// readme types the first command of the README with the program that the quickstart has built:
// go run does not pass an interrupt on to it.
func readme(t *testing.T, folder string) {
	address := needs.Address(t)
	first := blocks(t, "README.md")[:2]
	replace := strings.NewReplacer("go run ./cmd/resourcesync", "./resourcesync", "127.0.0.1:8080", address)
	if !strings.HasPrefix(first[0].text, "go run ./cmd/resourcesync ") || typeCommands(t, folder, address, first, replace) != 1 {
		t.Errorf("README.md does not begin with a command that serves a folder: %q", first[0].text)
	}
}
