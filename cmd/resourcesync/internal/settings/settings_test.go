package settings

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
)

// A config is a configuration. declare declares its settings.
type config struct {
	colour string
	every  time.Duration
	walls  []string
	token  string
}

func (c *config) declare(in *Catalog) {
	in.Add(
		Setting{Name: "colour", Value: Choice(&c.colour, "red", "white"), Default: "white", Restart: true, Text: "The colour, such as red. Red is warm.", Also: []string{"paint"}},
		Setting{Name: "every", Value: Span(&c.every), Group: Limits, Text: "How often to paint."},
		Setting{Name: "wall", Value: List(&c.walls), Group: Lists, Text: "A wall.", Offer: completion.Values{Folders: true}},
	)
	in.AddSecret(Setting{Name: "token", Value: Text(&c.token), Show: Mask, Text: "The key of the door."})
}

func declared() (*config, *Catalog) {
	c, in := new(config), new(Catalog)
	c.declare(in)
	return c, in
}

// TestOneDeclaration: the declaration of a setting determines its flag, variable and key, its
// help, its values for completion, the output of check-config, and what a reload refuses.
func TestOneDeclaration(t *testing.T) {
	c, in := declared()
	flags, others, err := in.Parse([]string{"north", "-colour=red", "--wall", "a", "south", "--wall", "b", "--", "--colour"})
	if err != nil || strings.Join(others, " ") != "north south --colour" {
		t.Fatal(others, err)
	}
	t.Setenv("RESOURCESYNC_COLOUR", "white")
	t.Setenv("RESOURCESYNC_EVERY", "2d")
	file, err := ParseFile("paint.yaml", []byte("every: 1h\nwall: [c]\ntoken: sesame\nsets: []"))
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Apply(flags, in.Environment(), file.Top); err != nil {
		t.Fatal(err)
	}
	if c.colour != "red" || c.every != 2*Day || strings.Join(c.walls, " ") != "a b" || c.token != "sesame" {
		t.Errorf("%+v", c)
	}
	if got, want := string(FileText(in.Effective(nil), nil)), "colour: red\nevery: 2d\ntoken: '*****'\nwall: [a, b]\nsets: []\n"; got != want {
		t.Errorf("in force is\n%swant\n%s", got, want)
	}
	const help = `
Flags:
  --colour
        The colour, such as red. Red is warm.
        Default: white
  --token
        The key of the door.
        Default: none

More flags, which "resourcesync paint --help-all" explains:
  lists    --wall
  limits   --every
  state    --token-file
`
	if got := in.Help("paint", false); got != help {
		t.Errorf("help is\n%swant\n%s", got, help)
	}
	if all := in.Help("paint", true); !strings.Contains(all, "\nLists:\n  --wall\n        A wall. May be repeated.\n        Default: none\n") {
		t.Errorf("all help is\n%s", all)
	}
	if s := in.Lookup("colour"); s.Summary() != "The colour" || strings.Join(s.Offered().Words, " ") != "red white" || s.IsBool() || s.IsRepeated() {
		t.Errorf("%+v", s)
	}
	_, before := declared()
	if names := in.NeedRestart(before); strings.Join(names, " ") != "colour" {
		t.Errorf("a restart is needed for %q", names)
	}
}

// TestEffectiveDefaults: a default that is not a value is a comment.
func TestEffectiveDefaults(t *testing.T) {
	var c Catalog
	var wall, door, lock string
	c.Add(Setting{Name: "wall", Value: Text(&wall), Default: "red"}, Setting{Name: "door", Value: Text(&door), Without: "the next one"}, Setting{Name: "lock", Value: Text(&lock), Without: "none"})
	if got, want := string(FileText(c.Effective(nil), nil)), "wall: red\n# By default:\n# door: the next one\n\nsets: []\n"; got != want {
		t.Errorf("in force is\n%swant\n%s", got, want)
	}
}

// TestPlaces: an error names the place of the effective value, and no secrets.
func TestPlaces(t *testing.T) {
	secret := t.TempDir() + "/token"
	if err := os.WriteFile(secret, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := Fault("every", "give less")
	for _, test := range []struct {
		args, env, file string
		err             error
		want            string
	}{
		{"--every 3d", "4d", "every: 5d", wrong, `--every "3d": give less`},
		{"", "4d", "every: 5d", wrong, `RESOURCESYNC_EVERY "4d": give less`},
		{"", "", "\nevery: 5d", wrong, `paint.yaml:2: every "5d": give less`},
		{"", "", "", Fault("colour", "give another"), `--colour "white": give another`},
		{"", "", "token: sesame", Fault("token", "give another"), `paint.yaml:1: token "*****": give another`},
		{"", "", "token-file: " + secret, Fault("token", "give another"), `paint.yaml:1: token-file: give another`},
		{"--token sesame --token-file " + secret, "", "", nil, "--token-file: a value and a file with the value contradict each other; leave out one of them"},
		{"--every 5", "", "", nil, `--every "5": give a time with its unit, such as 30m, 48h or 90d`},
		{"", "", "colour: blue", nil, `paint.yaml:1: colour "blue": give red or white`},
		{"--paint red", "", "", nil, "unknown flag --paint; did you mean --colour?"},
		{"--colour", "", "", nil, "--colour needs a value"},
	} {
		_, in := declared()
		t.Setenv("RESOURCESYNC_EVERY", test.env)
		file, err := ParseFile("paint.yaml", []byte(test.file+"\nsets: []"))
		if err != nil {
			t.Fatal(err)
		}
		flags, _, err := in.Parse(strings.Fields(test.args))
		if err == nil {
			err = in.Apply(flags, in.Environment(), file.Top)
		}
		if err == nil {
			err = in.Locate(test.err)
		}
		if err == nil || err.Error() != test.want {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// FuzzParseFile: any text is parsed or returns an error.
func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{"", "a: b", "sets:\n- {kind: folder}", "a: &x [1]\nb: *x", "<<: *x", "? [a]\n: b", "sets: [[a]]", "a: !!binary x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { _, _ = ParseFile("site.yaml", text) })
}
