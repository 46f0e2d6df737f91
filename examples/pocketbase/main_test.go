package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"github.com/resourcesync-go/resourcesync/destination"
)

// beMain in the environment makes the test binary the program itself.
const beMain = "POCKETBASE_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A site is PocketBase at an address, with the records that its answers have acknowledged.
type site struct {
	t         *testing.T
	url, data string
	client    http.Client

	mu     sync.Mutex
	titles map[string]string // by ID
	writes int
	unsure map[string]bool // IDs of writes without an answer
}

func newSite(t *testing.T) *site {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // an address that is free
	must(t, err)
	must(t, ln.Close())
	return &site{
		t: t, url: "http://" + ln.Addr().String(), data: filepath.Join(t.TempDir(), "pb_data"), client: http.Client{Timeout: 20 * time.Second},
		titles: make(map[string]string), unsure: make(map[string]bool),
	}
}

// start starts PocketBase, and waits until it serves documents.
func (s *site) start() *exec.Cmd {
	s.t.Helper()
	p, _ := s.startUntil("/resourcesync/capabilitylist.xml")
	return p
}

// startUntil starts PocketBase, and waits until it serves a path.
func (s *site) startUntil(path string) (p *exec.Cmd, log *os.File) {
	s.t.Helper()
	program, err := os.Executable()
	must(s.t, err)
	p = exec.CommandContext(s.t.Context(), program, "serve", "--http", strings.TrimPrefix(s.url, "http://"), "--dir", s.data)
	p.Env = append(os.Environ(), beMain+"=1")
	log, err = os.Create(filepath.Join(s.t.TempDir(), "log"))
	must(s.t, err)
	p.Stdout, p.Stderr = log, log
	must(s.t, p.Start())
	s.t.Cleanup(func() { p.Process.Kill(); p.Wait() })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if res, err := s.client.Get(s.url + path); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return p, log
			}
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			s.t.Fatalf("PocketBase does not start:\n%s", text)
		}
	}
}

// write creates, updates or deletes a record.
func (s *site) write(id string) error {
	const records = "/api/collections/articles/records"
	s.mu.Lock()
	_, exists := s.titles[id]
	s.writes++
	title := fmt.Sprintf("write %d", s.writes)
	s.mu.Unlock()
	method, path, body := http.MethodPost, records, url.Values{"id": {id}, "title": {title}}
	switch {
	case exists && rand.IntN(3) == 0:
		method, path, body = http.MethodDelete, records+"/"+id, nil
	case exists:
		method, path = http.MethodPatch, records+"/"+id
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := s.client.Do(req)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.unsure[id] = true
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		s.unsure[id] = true
		return err
	case res.StatusCode >= 300:
		return fmt.Errorf("%s %s: %s %s", method, path, res.Status, answer)
	case method == http.MethodDelete:
		delete(s.titles, id)
	default:
		s.titles[id] = title
	}
	return nil
}

// same checks that a copy has the acknowledged records.
func (s *site) same(dir string) {
	s.t.Helper()
	want, got := maps.Clone(s.titles), make(map[string]string)
	must(s.t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == ".resourcesync" {
			return filepath.SkipDir
		}
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		var record struct{ ID, Title string }
		must(s.t, json.Unmarshal(text, &record))
		got[record.ID] = record.Title
		return err
	}))
	for id := range s.unsure { // the answer was lost
		delete(want, id)
		delete(got, id)
	}
	if !maps.Equal(got, want) {
		s.t.Errorf("the copy has %v\nwant %v", got, want)
	}
}

// TestUnpublishable: PocketBase and its dashboard start if the collection cannot be published, for
// example because an administrator has renamed a field there.
func TestUnpublishable(t *testing.T) {
	s := newSite(t)
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: s.data})
	must(t, app.Bootstrap())
	c := core.NewBaseCollection("articles") // without the field updated
	c.Fields.Add(&core.TextField{Name: "title"})
	must(t, app.Save(c))
	must(t, app.ResetBootstrapState())
	p, log := s.startUntil("/_/")
	text, err := os.ReadFile(log.Name())
	must(t, err)
	if !strings.Contains(string(text), "the articles are not published: ") || !strings.Contains(string(text), "updated") {
		t.Errorf("the log does not say what is wrong:\n%s", text)
	}
	must(t, p.Process.Signal(os.Interrupt))
	must(t, p.Wait())
}

// TestStopped: an interrupt ends the Source, closes the journal and the store, and ends PocketBase.
func TestStopped(t *testing.T) {
	s := newSite(t)
	p, log := s.startUntil("/resourcesync/capabilitylist.xml")
	must(t, s.write("aaaaaaaaaaaaaaa"))
	must(t, p.Process.Signal(os.Interrupt))
	must(t, p.Wait())
	text, err := os.ReadFile(log.Name())
	must(t, err)
	if strings.Contains(string(text), "not published") {
		t.Errorf("the log has an error:\n%s", text)
	}
}

// TestKilled writes records, and kills PocketBase again and again. A Destination that reads the Change
// Lists has every write that was acknowledged.
func TestKilled(t *testing.T) {
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("RESOURCESYNC_KILLS"), "2"))
	must(t, err)
	s, dir := newSite(t), t.TempDir()
	folder, err := destination.OpenFolder(dir)
	must(t, err)
	defer folder.Close()
	d, err := destination.New(s.url, folder, &destination.Options{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer d.Close()
	p := s.start()
	must(t, s.write("aaaaaaaaaaaaaaa"))
	res, err := s.client.Get(s.url + "/api/collections/articles/records/aaaaaaaaaaaaaaa")
	must(t, err)
	res.Body.Close()
	if link := strings.Join(res.Header.Values("Link"), ", "); !strings.Contains(link, `/resourcesync/capabilitylist.xml>; rel="resourcesync"`) {
		t.Errorf("Link: %s", link)
	}
	res, err = s.client.Get(s.url + "/resourcesync/capabilitylist.xml")
	must(t, err)
	list, err := io.ReadAll(res.Body)
	must(t, err)
	res.Body.Close()
	if !strings.Contains(string(list), `capability="change-notification"`) {
		t.Errorf("no push: %s", list)
	}
	_, err = d.Sync(t.Context())
	must(t, err)
	for range kills {
		ctx, cancel := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					s.mu.Lock()
					id := fmt.Sprintf("%012d%03d", w, rand.IntN(40))
					skip := s.unsure[id]
					s.mu.Unlock()
					if !skip && s.write(id) != nil {
						return // it was killed
					}
				}
			})
		}
		time.Sleep(500*time.Millisecond + rand.N(500*time.Millisecond))
		must(t, p.Process.Kill())
		p.Wait()
		cancel()
		writers.Wait()
		p = s.start()
		_, err := d.Sync(t.Context())
		must(t, err)
		s.same(dir)
	}
	report, err := d.Audit(t.Context())
	must(t, err)
	if !report.InSync() || s.writes < 10*kills {
		t.Errorf("after %d writes, the audit finds %+v", s.writes, report)
	}
	t.Logf("%d writes, %d records, %d without an answer", s.writes, len(s.titles), len(s.unsure))
}

// TestBatches: the journal fails no transaction of PocketBase.
func TestBatches(t *testing.T) {
	s := newSite(t)
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: s.data})
	must(t, app.Bootstrap())
	app.Settings().Batch.Enabled = true
	must(t, app.Save(app.Settings()))
	must(t, app.ResetBootstrapState())
	s.start()
	var ids []string
	for i := range 8 {
		ids = append(ids, fmt.Sprintf("%015d", i))
		must(t, s.write(ids[i]))
	}
	var clients sync.WaitGroup
	for c := range 8 {
		clients.Go(func() {
			for n := range 8 {
				var requests []string
				for _, id := range ids {
					requests = append(requests, fmt.Sprintf(`{"method":"PATCH","url":"/api/collections/articles/records/%s","body":{"title":"%d %d"}}`, id, c, n))
				}
				res, err := s.client.Post(s.url+"/api/batch", "application/json", strings.NewReader(`{"requests":[`+strings.Join(requests, ",")+`]}`))
				if err != nil {
					t.Error(err)
					return
				}
				answer, err := io.ReadAll(res.Body)
				if res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
					t.Errorf("batch: %s %s %v", res.Status, answer, err)
				}
			}
		})
	}
	clients.Wait()
}

// TestRestored: after a backup was restored, a Destination loses the records of after the backup.
func TestRestored(t *testing.T) {
	s, dir, backup := newSite(t), t.TempDir(), filepath.Join(t.TempDir(), "backup")
	folder, err := destination.OpenFolder(dir)
	must(t, err)
	defer folder.Close()
	d, err := destination.New(s.url, folder, &destination.Options{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer d.Close()
	stop := func(p *exec.Cmd) {
		t.Helper()
		must(t, p.Process.Signal(os.Interrupt))
		must(t, p.Wait())
	}
	p := s.start()
	must(t, s.write("aaaaaaaaaaaaaaa"))
	stop(p)
	must(t, os.CopyFS(backup, os.DirFS(s.data)))
	before := maps.Clone(s.titles)
	p = s.start()
	must(t, s.write("bbbbbbbbbbbbbbb"))
	_, err = d.Sync(t.Context())
	must(t, err)
	s.same(dir)
	stop(p)
	must(t, os.RemoveAll(s.data))
	must(t, os.CopyFS(s.data, os.DirFS(backup)))
	s.titles = before
	s.start()
	_, err = d.Sync(t.Context())
	must(t, err)
	s.same(dir)
}
