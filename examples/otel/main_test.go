package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A span is what the exporter writes.
type span struct {
	Name        string
	SpanContext struct{ TraceID, SpanID string }
	Parent      struct{ SpanID string }
}

// TestTrace runs the program, requests a document, and reads the trace.
func TestTrace(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	done := make(chan error)
	go func() { done <- run(ctx, ln, folder, &out) }()
	url := "http://" + ln.Addr().String() + "/resourcesync/resourcelist.xml"
	for status := 0; status != http.StatusOK; { // 503 before the first scan has ended
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		status = res.StatusCode
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	spans := map[string]span{} // the last with each name
	for d := json.NewDecoder(&out); ; {
		var s span
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		spans[s.Name] = s
	}
	render, request := spans["resourcesync.render"], spans["GET"]
	if render.Parent.SpanID == "" || render.Parent.SpanID != request.SpanContext.SpanID || render.SpanContext.TraceID != request.SpanContext.TraceID {
		t.Errorf("the rendering %+v is not a child of the request %+v", render, request)
	}
	if spans["resourcesync.scan"].Name == "" {
		t.Errorf("no scan among %v", spans)
	}
}
