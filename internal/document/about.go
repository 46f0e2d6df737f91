package document

import (
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"unicode/utf8"
)

// An About tells people what a Source or a set is, and whom to ask. It is shown on HTML pages.
type About struct{ Title, Description, Contact string }

// The maximum lengths of texts, in characters. A page has further texts, and stays below 100 KB.
const (
	maxTitle       = 200
	maxDescription = 2000
)

// Check returns the name of the first field that is invalid, and why it is. All fields may be
// empty.
func (a About) Check() (field string, err error) {
	switch {
	case !isText(a.Title, maxTitle):
		return "Title", fmt.Errorf("give a line of at most %d characters", maxTitle)
	case !isText(a.Description, maxDescription):
		return "Description", fmt.Errorf("give a text of at most %d characters", maxDescription)
	case a.Contact != "" && a.ContactURL() == "":
		return "Contact", fmt.Errorf("give an email address, such as repository@example.org, or the URL of a page, such as https://example.org/contact")
	}
	return "", nil
}

func isText(text string, most int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= most
}

// ContactURL returns the URL of a link to the contact. It is empty if there is no contact, or if it
// is invalid.
func (a About) ContactURL() string {
	if strings.HasPrefix(a.Contact, "http://") || strings.HasPrefix(a.Contact, "https://") {
		if u, err := url.Parse(a.Contact); err == nil && u.Host != "" {
			return u.String()
		}
		return ""
	}
	if address, err := mail.ParseAddress(a.Contact); err != nil || address.Address != a.Contact {
		return ""
	}
	return (&url.URL{Scheme: "mailto", Opaque: strings.ReplaceAll(url.PathEscape(a.Contact), "%40", "@")}).String()
}

// description returns the URI of a document that describes the Source, or "": the page of the
// Source if it says what the Source is, and no other document is given.
func (s *Site) description() string {
	if s.DescribedBy == "" && s.HTML && s.About != (About{}) {
		return s.Routes.URL(KindDescription+PageOf, nil, "")
	}
	return s.DescribedBy
}

// description returns the URI of a document that describes the set, as for the Source.
func (st *Set) description() string {
	if st.DescribedBy == "" && st.HTML && st.About != (About{}) {
		return st.URL(KindCapabilityList+PageOf, "")
	}
	return st.DescribedBy
}
