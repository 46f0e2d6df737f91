// Package simulation runs a Source, a network, a disk and a Destination in one process and in
// virtual time, and judges the copy. It is for tests only.
//
// A seed determines a [Script]: the parameters of a world and the events of a history. Faults
// are determined by the seed and their targets, so the order of goroutines does not matter.
// After the events, the faults end, and the Source rests. Then the judges decide.
//
// The models are the simulators of FoundationDB and TigerBeetle.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
	faults "github.com/resourcesync-go/resourcesync/internal/fault"
)

// A Destination is the part of *destination.Destination that worlds use. Close also closes the
// folder.
type Destination interface {
	Sync(ctx context.Context) (*destination.Report, error)
	Audit(ctx context.Context) (*destination.AuditReport, error)
	Follow(ctx context.Context, o *destination.FollowOptions) error
	Close() error
}

// Open opens a Destination with its folder.
type Open func(source, folder string, o *destination.Options, transport http.RoundTripper, hook faults.Hook) (Destination, error)

// A World runs a script.
type World struct {
	*Script
	opener Open
	disk   string // the folder of all copies
	source source
	hub    *hub // or nil
	began  time.Time
	skew   time.Duration // of the Source's clock now
	queue  chan Event

	mu         sync.Mutex
	truth      map[string]*resource
	versions   map[string]int
	log        []entry
	noted      int // entries of the log of which the Source has been notified
	cache      map[string][]cached
	requests   []*request
	open, most int // responses that are being read, and their maximum at a time
	counts     map[string]int
	planned    []plannedFault // that the script names
	fired      []plannedFault // that have happened
	lastFault  time.Time      // that a follower notices
	resting    bool
	copies     int               // kills so far
	user       map[string]string // files of the user in the copy, with their content
	damaged    map[string]bool   // copies that the user has edited or removed, until an audit
	failing    bool              // the disk has failed since the last run with exit status 0
	claimed    map[string]bool   // files that the user has edited while failing: the state may not list them as copies
	trace      []string
	failures   []Failure
	refused    bool // the last run has rightly refused the Source at its new URL
	verdict    Verdict

	unsettled bool // a process was killed, and no run has ended since

	process *process // that is running; only the goroutine of operations uses it
	number  int      // of the last operation
}

// Run runs a script in the bubble of a test (testing/synctest), with its files below disk. It
// returns the verdict of the judges, with a trace of the history.
func Run(s *Script, open Open, disk string) *Verdict {
	own := *s
	w := &World{
		Script: &own, skew: s.Skew, opener: open, disk: disk, queue: make(chan Event, len(s.Events)+10),
		truth: map[string]*resource{}, versions: map[string]int{}, counts: map[string]int{}, user: map[string]string{}, damaged: map[string]bool{}, claimed: map[string]bool{}, cache: map[string][]cached{},
	}
	defer os.RemoveAll(disk)
	w.NoLists = w.NoLists && w.hasDumps("resources")
	w.began = time.Now()
	if err := w.begin(); err != nil {
		w.broken(err)
	} else {
		w.live()
		w.rest()
		w.source.close()
		if w.hub != nil {
			w.hub.working.Wait()
		}
	}
	w.verdict.Trace, w.verdict.Failures, w.verdict.fired = w.trace, w.failures, w.fired
	return &w.verdict
}

// folder returns the folder of the copy.
func (w *World) folder() string { return filepath.Join(w.disk, strconv.Itoa(w.copies)) }

func (w *World) begin() (err error) {
	for _, e := range w.Events {
		if e.Verb == "fault" {
			if err := w.plan(e.Args); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(w.folder(), 0o700); err != nil {
		return err
	}
	if w.Hub && w.Source == "" {
		w.hub = &hub{World: w, subscribers: make(map[string]*subscriber)}
	}
	w.source, err = newSource(w)
	return err
}

func newSource(w *World) (source, error) {
	switch w.Source {
	case "":
		return &foreign{w}, nil
	case "memory", "sqlite", "static":
		return newOurs(w)
	}
	return nil, fmt.Errorf("there is no source %q", w.Source)
}

// live runs the events, and waits for the last operation.
func (w *World) live() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.queue {
			w.operate(e)
		}
		w.end()
	}()
	for _, e := range w.Events {
		time.Sleep(time.Until(w.began.Add(e.At)))
		if err := w.happen(e); err != nil {
			w.broken(fmt.Errorf("%v: %w", e, err))
		}
	}
	close(w.queue)
	<-done
}

// happen runs an event. Operations of the Destination and of its user run one after the
// other.
func (w *World) happen(e Event) error {
	switch e.Verb {
	case "put", "delete", "join":
		if len(e.Args) == 0 {
			return errors.New("the name is missing")
		}
		w.event("%s", e)
		w.change(e)
		return w.tell()
	case "close", "publish", "appear", "vanish", "move", "relocate":
		w.event("%s", e)
		set := 0
		if len(e.Args) > 0 {
			fmt.Sscan(e.Args[0], &set)
		}
		w.mu.Lock()
		if e.Verb != "vanish" || w.hasOtherSet(set%w.sets()) {
			w.note(e.Verb, set%w.sets(), version{})
		}
		w.mu.Unlock()
		return w.tell()
	case "clock":
		step, err := time.ParseDuration(e.Args[0])
		w.event("%s", e)
		w.mu.Lock()
		w.skew += step
		w.mu.Unlock()
		return err
	case "sync", "audit", "follow", "kill", "edit", "lose", "file":
		if w.Quick {
			w.operate(e)
		} else {
			w.queue <- e
		}
		return nil
	case "fault":
		return nil
	}
	return fmt.Errorf("there is no event %q", e.Verb)
}

// operate runs an operation of the Destination or of its user.
func (w *World) operate(e Event) {
	switch e.Verb {
	case "sync":
		w.sync()
	case "audit":
		_ = w.audit()
	case "follow":
		w.follow(e)
	case "kill":
		w.end()
	case "edit", "lose", "file":
		w.use(e)
	}
	w.pause()
}

// pause ends the running process after an operation, unless it is a service.
func (w *World) pause() {
	if !w.Service {
		w.end()
	}
}

// start returns the running process, or starts one.
func (w *World) start() (*process, context.Context, error) {
	w.number++
	ctx, cancel := context.WithCancel(context.Background())
	source := w.url()
	if w.process != nil && w.process.source != source {
		w.end() // its user starts it again with the new URL
	}
	if p := w.process; p != nil {
		p.number, p.cancel = w.number, cancel
		return p, ctx, nil
	}
	p := &process{w: w, number: w.number, source: source, folder: w.folder(), cancel: cancel}
	o := &destination.Options{Logger: slog.New(slog.DiscardHandler), MaxDelete: 1, IgnoreRobots: true, Moved: source != Site}
	if w.Guard {
		o.MaxDelete = 0
	}
	if w.UseDumps {
		o.Dumps = destination.DumpsAlways
	}
	var err error
	if p.d, err = w.opener(source, p.folder, o, &network{w, p}, p.hook); err != nil {
		cancel()
		return p, ctx, err
	}
	w.process = p
	return p, ctx, nil
}

// end ends the running process.
func (w *World) end() {
	if p := w.process; p != nil {
		p.d.Close()
		p.cancel()
		w.process = nil
		if p.folder != w.folder() {
			os.RemoveAll(p.folder)
		}
	}
}

// calm reports whether faults have ended.
func (w *World) calm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.resting
}

// count counts the occurrences of a target of faults.
func (w *World) count(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
	return w.counts[what]
}

// event adds a line to the trace.
func (w *World) event(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = append(w.trace, fmt.Sprintf("%12v  %s", time.Since(w.began), fmt.Sprintf(format, args...)))
}

// A Failure is a finding of a judge. Its kind distinguishes defects.
type Failure struct{ Kind, Text string }

func (f Failure) String() string { return f.Kind + ": " + f.Text }

// fail records a failure.
func (w *World) fail(kind, format string, args ...any) {
	f := Failure{kind, fmt.Sprintf(format, args...)}
	w.event("FAILURE: %v", f)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, f)
}

// broken records a failure of the simulation itself.
func (w *World) broken(err error) { w.fail("world", "%v", err) }
