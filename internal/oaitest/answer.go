package oaitest

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// arguments are the arguments of each verb (section 4 of the specification).
var arguments = map[string][]string{
	"Identify":            nil,
	"ListMetadataFormats": {"identifier"},
	"ListSets":            {"resumptionToken"},
	"GetRecord":           {"identifier", "metadataPrefix"},
	"ListIdentifiers":     {"metadataPrefix", "from", "until", "set", "resumptionToken"},
	"ListRecords":         {"metadataPrefix", "from", "until", "set", "resumptionToken"},
}

// An answer is the body of a response.
type answer struct {
	bytes.Buffer
	err string // the code of an error
}

func (a *answer) element(name, text string) {
	a.WriteString("<" + name + ">")
	_ = xml.EscapeText(a, []byte(text))
	a.WriteString("</" + name + ">")
}

// answer returns the response to a request.
func (r *Repository) answer(req *http.Request) []byte {
	q, verb := req.URL.Query(), req.URL.Query().Get("verb")
	var a answer
	known, ok := arguments[verb]
	if !ok {
		a.err = "badVerb"
	}
	for name, values := range q {
		if ok && name != "verb" && !slices.Contains(known, name) || len(values) > 1 {
			a.err = cmp.Or(a.err, "badArgument")
		}
	}
	if a.err == "" {
		r.verb(&a, verb, q, req)
	}
	var out answer
	out.WriteString(xml.Header + `<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">`)
	out.element("responseDate", r.Now().UTC().Format("2006-01-02T15:04:05Z"))
	out.element("request", "http://"+req.Host+req.URL.Path)
	if a.err != "" {
		fmt.Fprintf(&out, `<error code="%s"/>`, a.err)
	} else {
		out.WriteString("<" + verb + ">")
		out.Write(a.Bytes())
		out.WriteString("</" + verb + ">")
	}
	out.WriteString("</OAI-PMH>\n")
	return out.Bytes()
}

func (r *Repository) verb(a *answer, verb string, q url.Values, req *http.Request) {
	switch verb {
	case "Identify":
		a.element("repositoryName", "Test Repository")
		a.element("baseURL", "http://"+req.Host+req.URL.Path)
		a.element("protocolVersion", "2.0")
		a.element("adminEmail", "admin@repo.example")
		earliest := &Record{Datestamp: r.Now()}
		for _, rec := range r.records {
			if rec.Datestamp.Before(earliest.Datestamp) {
				earliest = rec
			}
		}
		a.element("earliestDatestamp", r.stamp(earliest))
		a.element("deletedRecord", cmp.Or(r.DeletedRecord, "persistent"))
		a.element("granularity", r.granularity())
	case "ListMetadataFormats":
		a.WriteString("<metadataFormat>")
		a.element("metadataPrefix", "oai_dc")
		a.element("schema", "http://www.openarchives.org/OAI/2.0/oai_dc.xsd")
		a.element("metadataNamespace", "http://www.openarchives.org/OAI/2.0/oai_dc/")
		a.WriteString("</metadataFormat>")
	case "ListSets":
		for _, set := range []string{"physics", "math", "math:algebra"} {
			a.WriteString("<set>")
			a.element("setSpec", set)
			a.element("setName", set)
			a.WriteString("</set>")
		}
	case "GetRecord":
		rec := r.index[q.Get("identifier")]
		switch {
		case !q.Has("identifier") || !q.Has("metadataPrefix"):
			a.err = "badArgument"
		case rec == nil:
			a.err = "idDoesNotExist"
		case q.Get("metadataPrefix") != "oai_dc":
			a.err = "cannotDisseminateFormat"
		default:
			r.writeRecord(a, rec)
		}
	default:
		r.list(a, verb == "ListRecords", q)
	}
}

// A token is a place in a list.
type token struct {
	epoch, offset, page int
	from, until, set    string
}

func (t token) String() string {
	return fmt.Sprintf("%d!%d!%d!%s!%s!%s", t.epoch, t.offset, t.page, t.from, t.until, t.set)
}

func (r *Repository) parseToken(text string) (t token, ok bool) {
	f := strings.Split(text, "!")
	if len(f) != 6 {
		return t, false
	}
	t = token{from: f[3], until: f[4], set: f[5]}
	for i, n := range []*int{&t.epoch, &t.offset, &t.page} {
		*n, _ = strconv.Atoi(f[i])
	}
	return t, t.epoch == r.epoch && (r.ListPages == 0 || t.page < r.ListPages)
}

func (r *Repository) list(a *answer, records bool, q url.Values) {
	t := token{epoch: r.epoch, from: q.Get("from"), until: q.Get("until"), set: q.Get("set")}
	switch {
	case q.Has("resumptionToken") && len(q) > 2:
		a.err = "badArgument"
	case q.Has("resumptionToken"):
		var ok bool
		if t, ok = r.parseToken(q.Get("resumptionToken")); !ok {
			a.err = "badResumptionToken"
		}
	case !q.Has("metadataPrefix") || !r.understands(t.from) || !r.understands(t.until) || t.from != "" && t.until != "" && len(t.from) != len(t.until):
		a.err = "badArgument"
	case q.Get("metadataPrefix") != "oai_dc":
		a.err = "cannotDisseminateFormat"
	}
	if a.err != "" {
		return
	}
	size := cmp.Or(r.PageSize, 100)
	found, total := r.find(t, size)
	if len(found) == 0 {
		a.err = "noRecordsMatch"
		return
	}
	for _, rec := range found {
		if records {
			r.writeRecord(a, rec)
		} else {
			r.writeHeader(a, rec)
		}
	}
	begin := t.offset
	t.offset, t.page = t.offset+len(found), t.page+1
	if t.offset >= total {
		if begin > 0 {
			a.WriteString("<resumptionToken/>")
		}
		return
	}
	fmt.Fprintf(a, `<resumptionToken completeListSize="%d" cursor="%d">`, total, begin)
	_ = xml.EscapeText(a, []byte(t.String()))
	a.WriteString("</resumptionToken>")
}

// find returns the records of a page, and the number of those in the list.
func (r *Repository) find(t token, size int) (found []*Record, total int) {
	if t.from == "" && t.until == "" && t.set == "" {
		return r.records[min(t.offset, len(r.records)):min(t.offset+size, len(r.records))], len(r.records)
	}
	for _, rec := range r.records {
		at := r.stamp(rec)
		if t.from != "" && !r.IgnoreFrom && at < t.from || t.until != "" && !r.IgnoreUntil && at[:min(len(at), len(t.until))] > t.until {
			continue
		}
		if t.set != "" && !slices.ContainsFunc(rec.Sets, func(s string) bool { return s == t.set || strings.HasPrefix(s, t.set+":") }) {
			continue
		}
		if total++; total > t.offset && len(found) < size {
			found = append(found, rec)
		}
	}
	return found, total
}

// understands reports whether the repository understands from or until.
func (r *Repository) understands(date string) bool {
	switch len(date) {
	case 0, len(time.DateOnly):
		return true
	}
	return !r.RefuseSeconds && len(r.granularity()) > len(time.DateOnly)
}

func (r *Repository) writeHeader(a *answer, rec *Record) {
	if rec.Deleted {
		a.WriteString(`<header status="deleted">`)
	} else {
		a.WriteString("<header>")
	}
	a.element("identifier", rec.Identifier)
	a.element("datestamp", r.stamp(rec))
	for _, set := range rec.Sets {
		a.element("setSpec", set)
	}
	a.WriteString("</header>")
}

func (r *Repository) writeRecord(a *answer, rec *Record) {
	a.WriteString("<record>")
	r.writeHeader(a, rec)
	if !rec.Deleted {
		a.WriteString(`<metadata><oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">`)
		a.element("dc:title", rec.Title)
		for _, id := range rec.Identifiers {
			a.element("dc:identifier", id)
		}
		a.WriteString("</oai_dc:dc></metadata>")
	}
	a.WriteString("</record>")
}
