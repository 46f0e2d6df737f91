package objectstore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
	"github.com/resourcesync-go/resourcesync/internal/testmain"
	"github.com/resourcesync-go/resourcesync/static"
)

// writerOf is the variable that makes the program of the tests a process that writes to a bucket: a
// URL with the access key, the endpoint and the name of the bucket.
const writerOf = "RESOURCESYNC_TEST_WRITER"

func TestMain(m *testing.M) {
	if at := os.Getenv(writerOf); at != "" {
		write := writeOnce
		if os.Args[4] == "publish" {
			write = publishFor
		}
		if err := withWriter(context.Background(), at, os.Args[1], os.Args[2], os.Args[3], write); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testmain.Run(m)
}

// openState opens a set in SQLite.
func openState(ctx context.Context, state string) (*sqlstore.Set, *sqlstore.Store, error) {
	store, err := sqlitestore.OpenFile(ctx, state, &sqlstore.Options{Window: time.Millisecond})
	if err != nil {
		return nil, nil, err
	}
	set, err := store.Set(ctx, "set", nil)
	return set, store, err
}

// A writer is what a process needs to keep the documents of a set in a bucket.
type writer struct {
	store *objectstore.Store
	src   *static.Source
	set   *sqlstore.Set
	state *sqlstore.Store
	site  string
	seed  string
}

// change changes resources in a way that the seed decides, with a pause after each change.
func (w *writer) change(ctx context.Context, pause time.Duration) (err error) {
	n, err := strconv.ParseUint(w.seed, 10, 64)
	if err != nil {
		return err
	}
	dice := rand.New(rand.NewPCG(n, 0))
	for i := range 60 {
		r := resource(i, "version-"+w.seed)
		r.URI = w.site + "/papers/" + r.Key
		switch dice.IntN(4) {
		case 0:
			err = errors.Join(err, w.set.Put(ctx, r))
		case 1:
			err = errors.Join(err, w.set.Delete(ctx, r.Key))
		default:
			continue
		}
		time.Sleep(pause)
	}
	return err
}

var quiet = slog.New(slog.DiscardHandler)

// writeOnce changes resources, and then writes the documents.
func writeOnce(ctx context.Context, w *writer) error {
	if err := w.change(ctx, 0); err != nil {
		return err
	}
	_, err := static.WriteTo(ctx, w.store, w.src, &static.Options{Grace: -1, DumpEvery: -1, Gzip: true, Logger: quiet})
	return err
}

// publishFor changes resources while the documents are published, until all is published.
func publishFor(ctx context.Context, w *writer) error {
	const listEvery = 200 * time.Millisecond
	running, cancel := context.WithCancel(ctx)
	p := static.NewPublication(w.store, w.src, &static.PublicationOptions{
		Options: static.Options{Grace: -1, Gzip: true, Logger: quiet}, Every: 10 * time.Millisecond, ListEvery: listEvery,
	})
	var all sync.WaitGroup
	all.Go(func() { _ = w.state.Run(running) })
	all.Go(func() { _ = p.Run(running) })
	err := w.change(ctx, 10*time.Millisecond)
	time.Sleep(2 * listEvery)
	err = errors.Join(err, p.Await(ctx), p.Health(ctx))
	cancel()
	all.Wait()
	return err
}

// withWriter calls write with a set in SQLite and a bucket.
func withWriter(ctx context.Context, at, state, site, seed string, write func(context.Context, *writer) error) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	secret, _ := u.User.Password()
	endpoint := "http://" + u.Host
	client := s3.New(s3.Options{BaseEndpoint: &endpoint, Region: "us-east-1", UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider(u.User.Username(), secret, "")})
	set, in, err := openState(ctx, state)
	if err != nil {
		return err
	}
	defer in.Close()
	src, err := static.New(site+"/rs/", []static.Set{{Name: "papers", Provider: set, Opener: contents{}}}, &static.SourceOptions{Division: static.Division{PageSize: 5, PackageSize: 100}})
	if err != nil {
		return err
	}
	store, err := objectstore.New(s3bucket.Objects{Client: client, Bucket: path.Base(u.Path)}, &objectstore.Options{Prefix: prefix, Logger: quiet})
	if err != nil {
		return err
	}
	return write(ctx, &writer{store, src, set, in, site, seed})
}

// TestKilled kills processes that write to a bucket, RESOURCESYNC_KILLS times, just before or just
// after a request that changes an object arrives. A Destination that reads the bucket then finds no
// fault. The next process does not wait until the lease of the killed one is void: TestKilledWriter and
// TestPublication do. After a run that is not killed, it has what the set has, and nothing else is in the bucket.
func TestKilled(t *testing.T) { eachKilled(t, "write") }

// TestKilledPublication does the same with processes that publish while the set changes.
func TestKilledPublication(t *testing.T) { eachKilled(t, "publish") }

func eachKilled(t *testing.T, mode string) {
	for name, at := range s3Servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKilled(t, at.New(t), mode)
		})
	}
}

func testKilled(t *testing.T, b *s3test.Bucket, mode string) {
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("RESOURCESYNC_KILLS"), "10"))
	must(t, err)
	needs.Time(t)
	b.Publish(t, "*")
	at := server{public: strings.TrimSuffix(b.Public, "{key}"), keys: func() []string { return keysOf(t, b) }}
	state := filepath.Join(t.TempDir(), "state.db")

	// The site: documents from the bucket, and contents from the state.
	var titles atomic.Pointer[map[string]string]
	public, err := url.Parse(at.public)
	must(t, err)
	documents := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = public.Scheme, public.Host, public.Host
		r.Out.URL.Path = path.Join(public.Path, prefix, r.In.URL.Path)
	}}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, isPaper := strings.CutPrefix(r.URL.Path, "/papers/")
		if !isPaper {
			documents.ServeHTTP(w, r)
			return
		}
		if title := (*titles.Load())[key]; title != "" {
			_, _ = io.WriteString(w, title)
			return
		}
		http.NotFound(w, r)
	}))
	defer site.Close()

	// The server of the bucket, as the process sees it.
	var left atomic.Int64    // requests until kill is called
	var serving sync.RWMutex // protects kill and after
	var kill func()          // ends the process
	after := false
	behind := &httputil.ReverseProxy{
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Rewrite:  func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = public.Scheme, public.Host },
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serving.RLock()
		defer serving.RUnlock()
		last := r.Method != http.MethodGet && r.Method != http.MethodHead && left.Add(-1) == 0
		if last && !after {
			kill()
			panic(http.ErrAbortHandler)
		}
		if last {
			w = httptest.NewRecorder() // the response is lost
		}
		behind.ServeHTTP(w, r)
		if last {
			kill()
			panic(http.ErrAbortHandler)
		}
	}))
	defer front.Close()

	folder, err := destination.OpenFolder(t.TempDir())
	must(t, err)
	defer folder.Close()
	d, err := destination.New(site.URL+"/", folder, &destination.Options{Logger: quiet, MaxDelete: 1})
	must(t, err)
	defer d.Close()

	run := func(round int) error {
		cmd := exec.CommandContext(t.Context(), os.Args[0], state, site.URL, fmt.Sprint(round), mode)
		cmd.Env = append(os.Environ(), writerOf+"="+b.At(strings.TrimPrefix(front.URL, "http://")))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		begun := make(chan struct{})
		serving.Lock()
		kill = func() {
			<-begun
			_ = cmd.Process.Kill()
		}
		serving.Unlock()
		must(t, cmd.Start())
		close(begun)
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("%w: %s", err, &stderr)
		}
		return nil
	}
	killed, found := 0, false
	for round := 0; killed < kills; round++ {
		n := 1 + rand.N(60)
		serving.Lock()
		after = rand.N(2) == 0
		serving.Unlock()
		left.Store(int64(n))
		if err := run(round); err != nil && left.Load() > 0 {
			t.Fatal(err)
		} else if err != nil {
			killed++
			serving.Lock() // until nothing of the process arrives any more
			b.Delete(t, prefix+leaseName)
			serving.Unlock()
		}
		now := titlesIn(t, state)
		titles.Store(&now)
		_, _, err := crawl(at.public+prefix, site.URL)
		if err != nil && (found || !errors.Is(err, errNone)) {
			t.Fatalf("killed at request %d, after it: %t: %v", n, after, err)
		}
		if found = err == nil; found {
			if report, err := d.Sync(t.Context()); err != nil {
				t.Fatalf("killed at request %d, after it: %t: %+v, %v", n, after, report, err)
			}
		}
	}
	left.Store(0)
	must(t, run(1000))
	now := titlesIn(t, state)
	titles.Store(&now)
	report, err := d.Sync(t.Context())
	if err != nil || report.Failed > 0 || report.Resources != int64(len(now)) {
		t.Errorf("%d resources: %+v, %v", len(now), report, err)
	}
	at.check(t, site.URL, len(now))
}

// titlesIn returns the contents of the resources in a state, by their keys.
func titlesIn(t *testing.T, state string) map[string]string {
	t.Helper()
	set, in, err := openState(t.Context(), state)
	must(t, err)
	defer in.Close()
	found := make(map[string]string)
	for r, err := range set.Resources(t.Context(), resourcesync.Range{}) {
		must(t, err)
		found[r.Key] = r.Type
	}
	return found
}
