package oaipmh_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/internal/oaitest"
	"github.com/resourcesync-go/resourcesync/scan"

	"github.com/resourcesync-go/resourcesync/internal/testmain"
)

// childURL tells a process that it is the child of a test, and which repository it harvests.
// Its argument is the file of the store.
const childURL = "OAIPMH_CHILD_URL"

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		if err := child(context.Background(), url, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testmain.Run(m))
}

// child harvests once.
func child(ctx context.Context, url, file string) error {
	go func() { // not longer than the test
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	store, set, err := openStore(ctx, file)
	if err != nil {
		return err
	}
	defer store.Close()
	r, err := newHarvester(ctx, url, store, set, &oaipmh.Options{Rate: 1e6, FullEvery: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = r.Fill(ctx)
	return err
}

func openStore(ctx context.Context, file string) (store *sqlstore.Store, set *sqlstore.Set, err error) {
	if store, err = sqlitestore.OpenFile(ctx, file, &sqlstore.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		return nil, nil, err
	}
	set, err = store.Set(ctx, "records", &scan.SetOptions{AwaitScan: true})
	return store, set, err
}

// newHarvester returns a Repository that fills set.
func newHarvester(ctx context.Context, url string, store *sqlstore.Store, set *sqlstore.Set, o *oaipmh.Options) (*oaipmh.Repository, error) {
	r, err := oaipmh.New(url, o)
	if err != nil {
		return nil, err
	}
	return r, r.Bind(ctx, set, func(ctx context.Context, purpose string) (scan.Stored, error) {
		return store.Set(ctx, purpose+" records", nil)
	})
}

// number returns the number in an environment variable.
func number(t testing.TB, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(name, err)
	}
	return n
}

// TestKill kills the harvester several times during its first listing. Each new process
// continues where the last one ended. RESOURCESYNC_OAI_RECORDS is the number of records.
func TestKill(t *testing.T) {
	kills, records := number(t, "RESOURCESYNC_KILLS", 3), number(t, "RESOURCESYNC_OAI_RECORDS", 2000)
	f := newFixture(t, records, oaipmh.Options{FullEvery: -1})
	f.PageSize = max(20, records/1000)
	pages := records / f.PageSize
	file := filepath.Join(t.TempDir(), "killed.db")
	var url string
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], file)
		cmd.Env = append(os.Environ(), childURL+"="+url)
		cmd.Stderr = os.Stderr
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	var served atomic.Int64
	reached := make(chan struct{}, 1)
	f.Before = func(http.ResponseWriter, *http.Request) bool {
		if n := served.Add(1); n%int64(pages/(kills+1)) == 0 {
			select {
			case reached <- struct{}{}:
			default:
			}
		}
		return false
	}
	// The server starts after the fields are set: nothing else orders requests of another
	// process after that.
	server := httptest.NewServer(f.Repository)
	defer server.Close()
	url = server.URL + "/oai"
	begun := time.Now()
	for range kills {
		cmd := start()
		<-reached
		cmd.Process.Kill()
		cmd.Wait()
	}
	cmd := start()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	store, set, err := openStore(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	f.set = set
	f.compare()
	// Identify, two responses for each kill, and one for the recent changes.
	if most := pages + 2*kills + 3; int(served.Load()) > most {
		t.Errorf("%d requests, expected at most %d for %d pages", served.Load(), most, pages)
	}
	usage := cmd.ProcessState
	t.Logf("%d records in %v with %d kills; the last process took %v of user time", records, time.Since(begun).Round(time.Millisecond), kills, usage.UserTime())
}

// BenchmarkHarvest lists a repository for the first time, completely again, and after a
// change. RESOURCESYNC_BENCH_ROWS is the number of records.
func BenchmarkHarvest(b *testing.B) {
	records := number(b, "RESOURCESYNC_BENCH_ROWS", 10_000)
	f := newFixture(b, records, oaipmh.Options{FullEvery: -1})
	f.PageSize = 500
	timed := func(name string) {
		begun := time.Now()
		f.harvest()
		b.ReportMetric(time.Since(begun).Seconds(), name+"-s/op")
		f.restart()
	}
	for b.Loop() {
		timed("first")
		f.options.FullEvery = time.Nanosecond
		f.restart()
		timed("complete")
		f.options.FullEvery = -1
		f.restart()
		f.Put(oaitest.Record{Identifier: "oai:repo.example:1", Datestamp: time.Now(), Identifiers: []string{"https://repo.example/changed"}})
		timed("change")
	}
}
