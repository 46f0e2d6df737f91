package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/operators"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
)

const (
	// queryTimeout is longer than operators.Timeout, which bounds the response.
	queryTimeout = operators.Timeout + 5*time.Second

	maxStatus = 16 << 20 // bytes
)

// showStatus prints the status of a running serve, proxy or mirror. It fails if there are
// problems.
func showStatus(ctx context.Context, args []string, stdout, _ io.Writer) error {
	var c queryConfig
	catalog := new(settings.Catalog)
	c.declare(catalog)
	args, err := parse(catalog, args)
	if err != nil {
		return refuse("status", err)
	}
	if len(args) > 1 {
		return settings.Errorf("status: only one address can be queried: unexpected argument %q", args[1])
	}
	at := append(args, operators.DefaultAddress)[0]
	body, err := queryStatus(ctx, at)
	if err != nil {
		return err
	}
	var kind struct{ Copy json.RawMessage }
	var s interface {
		Print(*terminal.Screen, time.Time) error
		HasProblems() bool
	} = new(status.Status)
	unhealthy := errUnhealthy
	err = json.Unmarshal(body, &kind)
	if kind.Copy != nil {
		s, unhealthy = new(status.CopyStatus), errCopyUnhealthy
	}
	if err == nil {
		err = json.Unmarshal(body, s)
	}
	if err != nil {
		return fmt.Errorf("the status at %s cannot be read: %w; is it that of another version?", at, err)
	}
	if c.json {
		_, err = stdout.Write(body)
	} else {
		err = s.Print(terminal.New(stdout), time.Now())
	}
	if err == nil && s.HasProblems() {
		err = unhealthy
	}
	return err
}

var (
	errUnhealthy     = errors.New("the Source has problems; docs/operations/troubleshoot.md says what to do about them")
	errCopyUnhealthy = errors.New("the copy has problems; docs/mirror.md says what to do about them")
)

type queryConfig struct{ json bool }

func (q *queryConfig) declare(c *settings.Catalog) {
	c.Add(settings.Setting{Name: "json", Value: settings.Bool(&q.json),
		Text: "Print the JSON that ADDRESS serves to programs."})
}

// isPort reports whether text is the number of a port, or empty.
func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil || text == ""
}

// queryStatus returns the JSON of the operators' address, which may be a URL, or an
// address and port as in --status.
func queryStatus(ctx context.Context, at string) ([]byte, error) {
	if !strings.Contains(at, "://") {
		at = "http://" + at
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || !isPort(u.Port()) {
		return nil, settings.Errorf("status %q: give the address of --status, such as %s", at, operators.DefaultAddress)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	req.Header.Set("Accept", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no status: %w; is the program running? Its log says why it ended. Start serve, run or mirror with --status %s, or name the address that it has", err, u.Host)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxStatus))
	switch isJSON := strings.HasPrefix(res.Header.Get("Content-Type"), "application/json"); {
	case err != nil:
		return nil, fmt.Errorf("the status at %s: %w", u, err)
	case !isJSON || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable:
		return nil, fmt.Errorf("%s returned %q instead of a status; give the address of --status, not of --listen", u, res.Status)
	}
	return body, nil
}
