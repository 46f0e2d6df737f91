package terminal

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// onTerminal runs f with a Screen on a terminal of 20 columns, and returns what the
// terminal receives.
func onTerminal(t *testing.T, f func(s *Screen)) string {
	t.Helper()
	p, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 10, Cols: 20}); err != nil {
		t.Fatal(err)
	}
	received := make(chan string)
	go func() {
		all, _ := io.ReadAll(p) // ends in an error when tty is closed
		received <- string(all)
	}()
	f(New(tty))
	tty.Close()
	return strings.ReplaceAll(<-received, "\r\n", "\n")
}

func show(s *Screen) {
	s.Status("a status that is too long")
	io.WriteString(s, s.Paint(Bold, "text")+"\n")
	s.Status("status")
	s.Status("")
}

func TestScreen(t *testing.T) {
	const erase = "\r\x1b[K"
	for name, test := range map[string]struct{ term, noColor, want string }{
		"a terminal":     {"xterm", "", "a status that is to" + erase + "\x1b[1mtext\x1b[0m\nstatus" + erase},
		"without colour": {"xterm", "1", "a status that is to" + erase + "text\nstatus" + erase},
		"dumb":           {"dumb", "", "text\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TERM", test.term)
			t.Setenv("NO_COLOR", test.noColor)
			if got := onTerminal(t, show); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			var b bytes.Buffer
			show(New(&b))
			file, err := os.CreateTemp(t.TempDir(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			show(New(file))
			if text, err := os.ReadFile(file.Name()); err != nil || string(text) != "text\n" || b.String() != "text\n" {
				t.Errorf("without a terminal: %q, %q, %v", &b, text, err)
			}
		})
	}
}

func TestTable(t *testing.T) {
	var table Table
	table.Header("NAME", ">COUNT", "ERROR")
	table.Row("ä", "7", "")
	table.Cells(Cell{"long name", Plain}, Cell{"1,234", Bold}, Cell{"re\x1b[2Jd\n", Red})
	var b bytes.Buffer
	if err := New(&b).WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"  NAME       COUNT  ERROR\n" +
		"  ä              7\n" +
		"  long name  1,234  re\ufffd[2Jd\ufffd\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	coloured := onTerminal(t, func(s *Screen) { s.WriteTable(&table) })
	if !strings.Contains(coloured, "\n  long name  \x1b[1m1,234\x1b[0m  \x1b[31mre\ufffd[2Jd\ufffd\x1b[0m\n") {
		t.Errorf("%q", coloured)
	}
	if plain := regexp.MustCompile(`\x1b\[\d+m`).ReplaceAllString(coloured, ""); plain != want {
		t.Errorf("without colours\n%swant\n%s", plain, want)
	}
}

func TestLogHandler(t *testing.T) {
	t.Setenv("TERM", "xterm")
	write := func(s *Screen) {
		log := slog.New(s.LogHandler())
		log.Info("listening", "address", "127.0.0.1:8080", "site", "a b")
		log.With("a", 1).WithGroup("g").Warn("be\x1bware\n", "msg", "kept", "time", "x")
		log.Error("failed", "error", errors.New("two\nlines \x1b]0;title\a"))
		log.Debug("not shown")
	}
	clock := regexp.MustCompile(`\d\d:\d\d:\d\d`)
	t.Setenv("NO_COLOR", "")
	want := "\x1b[2mT\x1b[0m INFO  listening  \x1b[2maddress=127.0.0.1:8080 site=\"a b\"\x1b[0m\n" +
		"\x1b[2mT\x1b[0m \x1b[33mWARN\x1b[0m  be\ufffdware\ufffd  \x1b[2ma=1 g.msg=kept g.time=x\x1b[0m\n" +
		"\x1b[2mT\x1b[0m \x1b[31mERROR\x1b[0m failed  \x1b[2merror=\"two\\nlines \\x1b]0;title\\a\"\x1b[0m\n"
	if got := clock.ReplaceAllString(onTerminal(t, write), "T"); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	t.Setenv("NO_COLOR", "1")
	want = regexp.MustCompile(`\x1b\[\d+m`).ReplaceAllString(want, "")
	if got := clock.ReplaceAllString(onTerminal(t, write), "T"); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
