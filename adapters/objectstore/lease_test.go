package objectstore_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/static"
)

const (
	leaseName = "rs/.static.lock"
	leaseTime = 30 * time.Second // the default
)

// storeIn returns a Store of a bucket in memory, and what it logs.
func storeIn(t testing.TB, m *faulty) (*objectstore.Store, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	s, err := objectstore.New(m, &objectstore.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	must(t, err)
	return s, log
}

func content(text string) static.Content {
	return static.Content{WriterTo: strings.NewReader(text), Type: "application/xml"}
}

// TestTwoWriters checks that a second writer is refused while one works, on real servers.
func TestTwoWriters(t *testing.T) {
	each(t, func(t *testing.T, b server) {
		s := newSite(t, b.client)
		s.put(1, 5, "first")
		second := newSite(t, b.client)
		second.put(1, 5, "second")
		tried := false
		s.Objects.Lease, second.Objects.Lease = 6*time.Second, 6*time.Second
		s.client.changed = func() {
			if !tried {
				tried = true
				if _, err := second.try(); !errors.Is(err, static.ErrLocked) {
					t.Errorf("error %v", err)
				}
			}
		}
		s.write()
		if !tried {
			t.Error("nothing was written")
		}
		s.check(b, 5)
		second.options.Grace = -1
		second.write() // the lease has been given back
		second.check(b, 5)
	})
}

// TestKilledWriter checks that the lease of a process that was killed is void after its time, and not
// before.
func TestKilledWriter(t *testing.T) {
	for _, conditions := range []string{"", "ignored", "rejected"} {
		synctest.Test(t, func(t *testing.T) {
			m := newFaulty()
			m.conditions = conditions
			m.replace(leaseName, "of a process that was killed")
			s, _ := storeIn(t, m)
			begun := time.Now()
			must(t, s.Lock(t.Context(), leaseName))
			if took := time.Since(begun); took != leaseTime {
				t.Errorf("conditions %q: the lease was void after %v", conditions, took)
			}
			must(t, s.Unlock(t.Context()))
			begun = time.Now()
			must(t, s.Lock(t.Context(), leaseName))
			if took := time.Since(begun); took != 0 {
				t.Errorf("conditions %q: a lease was given back, and free after %v", conditions, took)
			}
			must(t, s.Unlock(t.Context()))
		})
	}
}

// TestRefused checks that a writer is refused once the other one has renewed its lease.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFaulty()
		first, _ := storeIn(t, m)
		must(t, first.Lock(t.Context(), leaseName))
		second, _ := storeIn(t, m)
		begun := time.Now()
		if err := second.Lock(t.Context(), leaseName); !errors.Is(err, static.ErrLocked) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begun); took > leaseTime/2 {
			t.Errorf("refused after %v", took)
		}
		must(t, first.Unlock(t.Context()))
	})
}

// TestSameMoment checks that of two writers that find a void lease, or none, one gets it.
func TestSameMoment(t *testing.T) {
	for name, is := range map[string]string{"none": "", "void": "of a process that was killed"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newFaulty()
				if is != "" {
					m.replace(leaseName, is)
				}
				results := make(chan error)
				for range 2 {
					s, _ := storeIn(t, m)
					go func() {
						err := s.Lock(t.Context(), leaseName)
						results <- err
						if err == nil {
							time.Sleep(2 * leaseTime) // it works, and renews
							results <- s.Unlock(t.Context())
						}
					}()
				}
				first, second := <-results, <-results
				if first != nil {
					first, second = second, first
				}
				if first != nil || !errors.Is(second, static.ErrLocked) {
					t.Errorf("errors %v and %v", first, second)
				}
				must(t, <-results)
			})
		})
	}
}

// TestLostLease checks that a writer that loses its lease changes nothing from then on.
func TestLostLease(t *testing.T) {
	refused := errors.New("connection refused")
	for name, test := range map[string]struct {
		lose func(m *faulty)
		want error
	}{
		"taken over":        {func(m *faulty) { m.replace(leaseName, "of another") }, static.ErrLocked},
		"cannot be renewed": {func(m *faulty) { m.fail(refused) }, refused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newFaulty()
				s, _ := storeIn(t, m)
				must(t, s.Lock(t.Context(), leaseName))
				was, err := s.Write(t.Context(), "a", content("one"), static.Stamp{})
				must(t, err)
				time.Sleep(2 * leaseTime) // it renews
				was, err = s.Write(t.Context(), "a", content("two"), was)
				must(t, err)
				test.lose(m)
				time.Sleep(leaseTime + time.Second) // past the renewal at its end
				m.fail(nil)
				if _, err := s.Write(t.Context(), "a", content("three"), was); !errors.Is(err, test.want) || errors.Is(err, static.ErrLocked) != (test.want == static.ErrLocked) {
					t.Errorf("error %v", err)
				}
				if _, err := s.Remove(t.Context(), "a"); !errors.Is(err, test.want) {
					t.Errorf("error %v", err)
				}
				if m.text("a") != "two" {
					t.Errorf("the object is %q", m.text("a"))
				}
				must(t, s.Unlock(t.Context()))
				if m.text(leaseName) == "" {
					t.Error("the lease of another is gone")
				}
			})
		})
	}
}

// TestUnknownRenewal checks that a writer keeps its lease after a renewal that has been stored, but of which
// it could read neither the response nor the object.
func TestUnknownRenewal(t *testing.T) {
	for _, conditions := range []string{"obeyed", "ignored"} {
		for name, answer := range map[string]error{"once": errors.New("connection reset"), "repeated by the client": objectstore.ErrCondition} {
			t.Run(conditions+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := newFaulty()
					m.conditions = strings.TrimPrefix(conditions, "obeyed")
					s, _ := storeIn(t, m)
					must(t, s.Lock(t.Context(), leaseName))
					before := m.text(leaseName)
					m.isolate(answer)
					time.Sleep(leaseTime/3 + time.Second)
					if m.text(leaseName) == before {
						t.Fatal("not renewed")
					}
					m.isolate(nil)
					time.Sleep(leaseTime - 2*time.Second)
					_, err := s.Write(t.Context(), "a", content("one"), static.Stamp{})
					must(t, err)
					must(t, s.Unlock(t.Context()))
					if is := m.text(leaseName); is != "" {
						t.Errorf("left: %s", is)
					}
				})
			})
		}
	}
}

// TestConditions checks that an object that another program changes just before it is replaced, or
// creates, is not replaced, and that a warning says so if a store cannot exclude this.
func TestConditions(t *testing.T) {
	for _, conditions := range []string{"", "ignored", "rejected"} {
		t.Run(conditions, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newFaulty()
				m.conditions = conditions
				s, log := storeIn(t, m)
				must(t, s.Lock(t.Context(), leaseName))
				if warned := strings.Contains(log.String(), "ignores the conditions"); warned != (conditions != "") {
					t.Errorf("log: %s", log)
				}
				was, err := s.Write(t.Context(), "a", content("one"), static.Stamp{})
				must(t, err)
				if now, err := s.Stat(t.Context(), "a"); err != nil || now != was {
					t.Errorf("%+v, %v", now, err)
				}
				m.replace("a", "foreign")
				m.replace("b", "foreign")
				for name, stamp := range map[string]static.Stamp{"a": was, "b": {}} {
					if _, err := s.Write(t.Context(), name, content("two"), stamp); !errors.Is(err, objectstore.ErrCondition) {
						t.Errorf("%s: error %v", name, err)
					}
					if removed, err := s.Remove(t.Context(), name); removed || err != nil || m.text(name) != "foreign" {
						t.Errorf("%s is %q; removed: %t, %v", name, m.text(name), removed, err)
					}
				}
				must(t, s.Unlock(t.Context()))
			})
		})
	}
}

// TestLostResponses checks that a write whose response is lost has succeeded if the object is there.
func TestLostResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFaulty()
		m.lose(errors.New("connection reset"))
		s, _ := storeIn(t, m)
		must(t, s.Lock(t.Context(), leaseName))
		was, err := s.Write(t.Context(), "a", content("one"), static.Stamp{})
		must(t, err)
		// The client repeats the request itself, and loses the condition.
		m.lose(objectstore.ErrCondition)
		was, err = s.Write(t.Context(), "a", content("two"), was)
		must(t, err)
		if now, err := s.Stat(t.Context(), "a"); err != nil || now != was {
			t.Errorf("%+v, %v, want %+v", now, err, was)
		}
		m.fail(errors.New("connection refused"))
		if _, err := s.Write(t.Context(), "a", content("three"), was); err == nil {
			t.Error("no error")
		}
		m.fail(nil)
		must(t, s.Unlock(t.Context()))
	})
}
