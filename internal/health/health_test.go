package health

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
)

// TestFailures checks which failures are new, and how they are reported.
func TestFailures(t *testing.T) {
	var f Failures
	if f.Succeeded("reading") || f.Of("reading") != nil || f.Err("store") != nil {
		t.Error("something has failed in the beginning")
	}
	f.Forget()
	for i, step := range []struct {
		name string
		err  error // nil: it succeeds
		news bool
		want string // what Err says then
	}{
		{"writing", io.ErrShortWrite, true, "store: writing: short write"},
		{"reading", io.ErrUnexpectedEOF, true, "store: reading: unexpected EOF\nstore: writing: short write"},
		{"reading", errors.New("unexpected EOF"), false, "store: reading: unexpected EOF\nstore: writing: short write"},
		{"reading", io.EOF, true, "store: reading: EOF\nstore: writing: short write"},
		{"writing", nil, true, "store: reading: EOF"},
		{"writing", nil, false, "store: reading: EOF"},
		{"reading", nil, true, ""},
		{"reading", io.EOF, true, "store: reading: EOF"},
	} {
		var news bool
		if step.err != nil {
			news = f.Failed(step.name, step.err)
		} else {
			news = f.Succeeded(step.name)
		}
		if news != step.news {
			t.Errorf("step %d: news is %v", i, news)
		}
		if got := f.Of(step.name); got != step.err {
			t.Errorf("step %d: the error of %s is %v", i, step.name, got)
		}
		// Repeat, because the order of a map varies.
		for range 10 {
			got := ""
			if err := f.Err("store"); err != nil {
				got = err.Error()
			}
			if got != step.want {
				t.Fatalf("step %d: %q, want %q", i, got, step.want)
			}
		}
	}
	if err := f.Err("store"); !errors.Is(err, io.EOF) {
		t.Errorf("%v does not wrap what has failed", err)
	}
	f.Failed("writing", io.ErrShortWrite)
	f.Forget()
	if f.Err("store") != nil || f.Of("reading") != nil || f.Succeeded("writing") {
		t.Error("what has been forgotten is remembered")
	}
}

// TestConcurrency is for the race detector.
func TestConcurrency(t *testing.T) {
	var f Failures
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 100 {
				name := fmt.Sprint((i + n) % 3)
				f.Failed(name, io.EOF)
				f.Of(name)
				_ = f.Err("store")
				f.Succeeded(name)
				f.Forget()
			}
		})
	}
	wg.Wait()
	if err := f.Err("store"); err != nil {
		t.Error(err)
	}
}

// TestNewsBetweenRounds: a problem that is found between two rounds is new once.
func TestNewsBetweenRounds(t *testing.T) {
	var rounds Rounds
	if rounds.News("a", "broken") {
		t.Error("news before the first round is complete")
	}
	round := rounds.Begin()
	round.News("a", "broken")
	round.End()
	for i, step := range []struct {
		name, text string
		news       bool
	}{{"a", "broken", false}, {"a", "lost", true}, {"a", "lost", false}, {"b", "broken", true}, {"b", "broken", false}} {
		if got := rounds.News(step.name, step.text); got != step.news {
			t.Errorf("step %d: news is %t", i, got)
		}
	}
	lines := 2
	for i := range 2 * maxLines {
		if rounds.News(fmt.Sprint(i), "broken") {
			lines++
		}
	}
	if lines != maxLines {
		t.Errorf("%d lines", lines)
	}
	round = rounds.Begin()
	if round.News("a", "lost") || round.News("b", "broken") {
		t.Error("the next round does not know it")
	}
	if total, news := round.End(); total != 2 || !news {
		t.Errorf("%d problems, news: %t", total, news)
	}
}
