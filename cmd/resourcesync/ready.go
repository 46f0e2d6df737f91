package main

import (
	"fmt"
	"io"
	"net/http"
)

// serveReady answers 503 until the set can be shown, after the first scan.
func (p *publication) serveReady(w http.ResponseWriter, r *http.Request) {
	if !isFreshGet(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !p.set.shown.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "not ready; the first scan has not ended\n")
		return
	}
	io.WriteString(w, "ok\n")
}

// announceReady prints the URLs to start at, or logs them if the log is JSON.
func (p *publication) announceReady(c *serveConfig, stdout io.Writer, files int64) {
	description, list := p.source.Description(), p.documents.JoinPath("resourcelist.xml").String()
	if c.logFormat == "json" {
		p.log.Info("ready", "files", files, "source_description", description, "resource_list", list)
		return
	}
	fmt.Fprintf(stdout, "Ready (files: %d). Source Description: %s Resource List: %s\n", files, description, list)
}
