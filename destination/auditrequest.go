package destination

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
)

// ErrInUse means that another process uses the copy. If it follows the Source, it can audit; see
// [AuditRequest].
var ErrInUse = state.ErrInUse

const (
	// auditsFolder is the folder of requests for audits, beside the state.
	auditsFolder = "audits"

	// Requests have one of these endings: for an audit that has not begun, that is running,
	// and that has ended, with its report.
	requestSuffix, runningSuffix, reportSuffix = ".request", ".running", ".report"

	// lookEvery is the interval at which Follow looks for requests, and awaitEvery the interval
	// at which a request looks for its report.
	lookEvery  = 5 * time.Second
	awaitEvery = 200 * time.Millisecond
)

// An AuditRequest asks the process that follows a Source for an audit of its copy. It is answered
// within seconds, and the audit then runs in that process. Changes that arrive meanwhile wait, and
// the findings of the audit are repaired right after it.
type AuditRequest struct{ path string }

// An auditAnswer is the report of a requested audit.
type auditAnswer struct {
	Report *AuditReport `json:"report"`
	Error  string       `json:"error,omitempty"`
}

// NewAuditRequest requests an audit of the copy whose state is in a folder:
// [Options].State, or ".resourcesync" in the folder of a Folder. The caller closes the
// request.
func NewAuditRequest(state string) (*AuditRequest, error) {
	r := &AuditRequest{filepath.Join(state, auditsFolder, rand.Text())}
	if err := r.renew(); err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	return r, nil
}

// renew writes the request, if no process has it.
func (r *AuditRequest) renew() error {
	if _, err := os.Stat(r.path + runningSuffix); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(r.path+requestSuffix, nil, 0o600)
}

// Await returns the report, or the error of ctx if it ends before. Then it can be called again. A
// process that has ended does not answer requests, so call [New] from time to time to see whether
// it succeeds.
func (r *AuditRequest) Await(ctx context.Context) (*AuditReport, error) {
	ticker := time.NewTicker(awaitEvery)
	defer ticker.Stop()
	for {
		text, err := os.ReadFile(r.path + reportSuffix)
		switch {
		case err == nil:
			var answer auditAnswer
			if err := json.Unmarshal(text, &answer); err != nil {
				return nil, fmt.Errorf("destination: the report of the audit: %w", err)
			}
			if answer.Error != "" {
				return answer.Report, errors.New(answer.Error)
			}
			return answer.Report, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("destination: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), r.renew())
		case <-ticker.C:
		}
	}
}

// Close withdraws the request.
func (r *AuditRequest) Close() error {
	var err error
	for _, suffix := range []string{requestSuffix, runningSuffix, reportSuffix} {
		if failed := os.Remove(r.path + suffix); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// auditRequested audits if other processes have requested it, and repairs what it finds soon.
func (f *follower) auditRequested(ctx context.Context) {
	requests, _ := filepath.Glob(filepath.Join(f.at, auditsFolder, "*"+requestSuffix))
	var paths []string
	for _, name := range requests {
		path := strings.TrimSuffix(name, requestSuffix)
		if os.Rename(name, path+runningSuffix) == nil { // it has not been withdrawn
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return
	}
	report, err := f.Audit(ctx)
	if ctx.Err() != nil {
		for _, path := range paths {
			os.Rename(path+runningSuffix, path+requestSuffix) // for the next process
		}
		return
	}
	answer := auditAnswer{Report: report}
	if err != nil {
		answer.Error = err.Error()
	}
	text, err := json.Marshal(answer)
	for _, path := range paths {
		if err == nil {
			err = os.WriteFile(path+runningSuffix, text, 0o600)
		}
		if err == nil {
			err = os.Rename(path+runningSuffix, path+reportSuffix)
		}
	}
	if err != nil {
		f.log.Warn("the report of an audit cannot be written", "error", err)
	}
	if !report.InSync() {
		f.soon(0)
	}
}
