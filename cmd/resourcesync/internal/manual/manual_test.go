package manual

import (
	"bytes"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

const text = `Usage: prog paint [flags] WALL
       prog paint --all

Paints a wall
in a colour:

  prog paint north
  prog paint --all \
    --colour 'off white'

Stops with Ctrl-C. Choices:
  red   warm
  blue  cold

Flags:
  --all
        Paint all walls.
  --colour
        The colour of the wall, such as red. Two
        words need quotes.
        Default: white
`

func TestParse(t *testing.T) {
	got, err := Parse(text)
	want := Help{
		Usage: []string{"prog paint [flags] WALL", "prog paint --all"},
		Paragraphs: []Paragraph{
			{"Paints a wall in a colour:", false},
			{"prog paint north\nprog paint --all \\\n  --colour 'off white'", true},
			{"Stops with Ctrl-C. Choices:", false},
			{"red   warm\nblue  cold", true},
		},
		Flags: []Flag{
			{"all", "Paint all walls.", ""},
			{"colour", "The colour of the wall, such as red. Two words need quotes.", "white"},
		},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, want)
	}
	for _, wrong := range []string{"x\n\nFlags:\n        text of no flag\n", "x\n\nFlags:\n  --flag\n    badly indented\n"} {
		if h, err := Parse(wrong); err == nil {
			t.Errorf("%q: %+v and no error", wrong, h)
		}
	}
}

func TestSummary(t *testing.T) {
	for text, want := range map[string]string{
		"Paint all walls.": "Paint all walls",
		"The colour of the wall, such as red. Two words.":           "The colour of the wall",
		"The colour: red, green or blue.":                           "The colour",
		"The address and port to listen on. The default is ….":      "The address and port to listen on",
		"The version 1.1 of https://example.org/ that is supported": "The version 1.1 of https://example.org/ that is supported",
	} {
		if got := (Flag{Text: text}).Summary(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func page(t *testing.T) string {
	t.Helper()
	h, err := Parse(text + "  --dot\n        Lines may begin with a dot:\n        .this and 'that~ \\\\ too.\n")
	if err != nil {
		t.Fatal(err)
	}
	p := Page{
		Name: "prog", Purpose: "paint walls", Version: "v1.2-3", Date: time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC),
		Overview: Help{Paragraphs: []Paragraph{{".prog paints.", false}}},
		Commands: []Command{{"paint", h}},
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrite(t *testing.T) {
	got := page(t)
	for _, want := range []string{
		".TH PROG 1 \"2026-11-22\" \"prog v1.2\\-3\"\n",
		".SH DESCRIPTION\n\\&.prog paints.\n.SH COMMANDS\n.SS paint\nPaints a wall in a colour:\n.PP\n.nf\n",
		"\\&    prog paint \\-\\-all \\e\n\\&      \\-\\-colour \\(aqoff white\\(aq\n.fi\n.PP\n",
		".TP\n.B \\-\\-colour\nThe colour of the wall, such as red. Two words need quotes.\n.br\nDefault: white\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("without %q:\n%s", want, got)
		}
	}
}

// TestFormatters has the page checked and formatted by programs that show pages.
func TestFormatters(t *testing.T) {
	for _, program := range [][]string{
		{"mandoc", "-T", "lint", "-W", "warning"},
		{"mandoc", "-T", "utf8"},
	} {
		t.Run(strings.Join(program, " "), func(t *testing.T) {
			cmd := exec.Command(needs.Program(t, program[0]), program[1:]...)
			cmd.Stdin = strings.NewReader(page(t))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			if program[2] == "lint" {
				return
			}
			plain := overstruck(string(out))
			for _, want := range []string{"prog - paint walls", "prog paint --all \\\n", "--colour 'off white'", "  red   warm\n", ".this and 'that~ \\\\ too."} {
				if !strings.Contains(plain, want) {
					t.Errorf("without %q:\n%s", want, plain)
				}
			}
		})
	}
}

// overstruck removes the backspaces by which formatters make text bold.
func overstruck(text string) string {
	var b []rune
	for _, r := range text {
		if r == '\b' {
			b = b[:len(b)-1]
			continue
		}
		b = append(b, r)
	}
	return string(b)
}
