package sqlstore

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/testmain"
)

// childDatabase names the variable that makes a process the child of a test, with its
// database.
const childDatabase = "SQLSTORE_CHILD_DATABASE"

func TestMain(m *testing.M) {
	if db := os.Getenv(childDatabase); db != "" {
		if err := child(context.Background(), database(db), os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testmain.Run(m))
}

// child runs a store and serves its set until it is killed. If work is "storm", it
// writes as well; if it is "push" and a hub, it writes and publishes.
func child(ctx context.Context, db database, work string) error {
	// A child must not outlive a test that has been killed.
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	o := &Options{}
	pageSize := 10
	if work == "storm" {
		o.Now, o.Window, pageSize = stepping, stormWindow, stormPage
	}
	store, _, err := db.connect(ctx, o)
	if err != nil {
		return err
	}
	set, err := store.Set(ctx, "articles", nil)
	if err != nil {
		return err
	}
	go store.Run(ctx)
	failed := make(chan error)
	if hub, ok := strings.CutPrefix(work, "push "); ok {
		return pushChild(ctx, db, store, set, hub)
	}
	if work == "storm" {
		host, err := connectWriter(db)
		if err != nil {
			return err
		}
		for range 4 {
			go func() { failed <- host.storm(ctx, set, rand.New(rand.NewPCG(rand.Uint64(), 1)), math.MaxInt) }()
		}
	}
	go func() { failed <- serveChild(ctx, set, pageSize) }()
	return <-failed
}

func serveChild(ctx context.Context, set *Set, pageSize int) error {
	source, err := newSource(set, pageSize)
	if err != nil {
		return err
	}
	go source.Run(ctx)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return http.Serve(listener, source)
}

// A process is a child process.
type process struct {
	cmd   *exec.Cmd
	first string // the first line it wrote
}

func startChild(t testing.TB, db database, work string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], work)
	cmd.Env = append(os.Environ(), childDatabase+"="+string(db))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd}
	t.Cleanup(func() {
		p.kill()
		stdin.Close()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("child has not started: %v: %s", err, stderr.String())
	}
	p.first = strings.TrimSpace(line)
	return p
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// eventually calls check until it returns nil.
func eventually(t testing.TB, check func() error) {
	t.Helper()
	deadline := time.Now().Add(needs.Patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
