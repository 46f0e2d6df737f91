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
`

func TestParse(t *testing.T) {
	got := Parse(text)
	want := Help{
		Usage: []string{"prog paint [flags] WALL", "prog paint --all"},
		Paragraphs: []Paragraph{
			{"Paints a wall in a colour:", false},
			{"prog paint north\nprog paint --all \\\n  --colour 'off white'", true},
			{"Stops with Ctrl-C. Choices:", false},
			{"red   warm\nblue  cold", true},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func page(t *testing.T) string {
	t.Helper()
	h := Parse(text)
	h.Flags = []Flag{
		{"all", "Paint all walls.", ""},
		{"colour", "The colour of the wall, such as red. Two words need quotes.", "white"},
		{"dot", "Lines may begin with a dot: .this and 'that~ \\\\ too.", ""},
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

// TestFormatters checks and formats the page with common programs for manual pages.
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

// overstruck removes the backspaces with which formatters make text bold.
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
