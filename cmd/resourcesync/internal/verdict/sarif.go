package verdict

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// The objects of SARIF 2.1.0 (OASIS) that a report needs. Columns are bytes, as in the other formats.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string          `json:"id"`
		ShortDescription sarifText       `json:"shortDescription"`
		Help             sarifText       `json:"help"`
		HelpURI          string          `json:"helpUri"`
		Configuration    sarifLevel      `json:"defaultConfiguration"`
		Properties       sarifJudgements `json:"properties"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Start         string              `json:"startTimeUtc"`
		End           string              `json:"endTimeUtc"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID     string          `json:"ruleId"`
		RuleIndex  int             `json:"ruleIndex"`
		Level      string          `json:"level"`
		Message    sarifText       `json:"message"`
		Locations  []sarifLocation `json:"locations"`
		Properties sarifJudgements `json:"properties"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}

	// sarifJudgements are properties of our own.
	sarifJudgements struct {
		Harm    check.Harm  `json:"harm"`
		Force   check.Force `json:"force"`
		Section string      `json:"section"`
		Link    string      `json:"link"`
		Quote   string      `json:"quote,omitempty"`
		Remedy  string      `json:"remedy"`
		Seen    []string    `json:"seen,omitempty"`
	}
)

const (
	sarifSchema = "https://json.schemastore.org/sarif-2.1.0.json"
	rulesPage   = "https://github.com/resourcesync-go/resourcesync/blob/main/docs/check.md#rules"
)

// writeSARIF writes a report in the Static Analysis Results Interchange Format.
func writeSARIF(w io.Writer, r *check.Report) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{Name: "resourcesync check", InformationURI: rulesPage}},
		Invocations: []sarifInvocation{{
			Successful: true, Start: r.Begun.UTC().Format(time.RFC3339), End: r.Ended.UTC().Format(time.RFC3339), Notifications: notifications(r),
		}},
		Results: []sarifResult{},
	}
	index := make(map[string]int)
	for i, rule := range check.Rules() {
		index[rule.ID] = i
		s := rule.Sentences[0]
		fails := rule.Harm == check.Error || rule.Force() == check.Must
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: rule.ID, ShortDescription: sarifText{rule.Text}, Help: sarifText{rule.Remedy}, HelpURI: s.Link(),
			Configuration: sarifLevel{level(rule.Harm, fails)},
			Properties:    sarifJudgements{rule.Harm, rule.Force(), s.Section, s.Link(), s.Quote, rule.Remedy, rule.Seen},
		})
	}
	for _, f := range r.Findings {
		at := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{locator(f.Document)}}}
		if f.Line > 0 {
			at.Physical.Region = &sarifRegion{f.Line, f.Column}
		}
		if f.Entry > 0 {
			at.Logical = []sarifLogical{{fmt.Sprint("entry ", f.Entry), "element"}}
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, RuleIndex: index[f.Rule], Level: level(f.Harm, f.Fails()), Message: sarifText{valid(f.Message)}, Locations: []sarifLocation{at},
			Properties: sarifJudgements{f.Harm, f.Force, f.Section, f.Link, f.Quote, f.Remedy, f.Seen},
		})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{sarifSchema, "2.1.0", []sarifRun{run}})
}

// level returns the level of a finding. Errors are those that make the report not OK.
func level(h check.Harm, fails bool) string {
	switch {
	case fails:
		return "error"
	case h == check.Warning:
		return "warning"
	}
	return "note"
}

// notifications states what the results omit.
func notifications(r *check.Report) (all []sarifNotification) {
	add := func(text string) { all = append(all, sarifNotification{"note", sarifText{valid(text)}}) }
	for _, g := range groups(r) {
		if more := g.More(); more > 0 {
			add(fmt.Sprintf("%s of the rule %s", webpage.Number(more, "further finding"), g.ID))
		}
	}
	if r.Omitted > 0 {
		add(omitted(r))
	}
	for _, text := range r.Unchecked {
		add("not checked: " + text)
	}
	return all
}

// locator returns the URI of a document, which may be a file.
func locator(document string) string {
	if u, err := url.Parse(document); err == nil && u.Host != "" {
		return u.String()
	}
	path := filepath.ToSlash(document)
	if strings.HasPrefix(path, "/") || filepath.VolumeName(document) != "" {
		return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(path, "/")}).String()
	}
	return (&url.URL{Path: path}).String()
}
