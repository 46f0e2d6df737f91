package check

import "strings"

// A Sentence is a sentence of a specification.
type Sentence struct {
	// Section is the specification and its section, such as "Core 10.1". For a limit of
	// this module it is the name of the package, "rsxml".
	Section string `json:"section"`
	Force   Force  `json:"force"`

	// Quote has at most 25 words of the sentence. It is empty if the rule states the
	// sentence in other words. Quotes of Framework Notification are translations.
	Quote string `json:"quote,omitempty"`
}

// Translated reports whether the quote is our translation: only a Japanese text of the
// specification was available.
func (s *Sentence) Translated() bool {
	return s.Quote != "" && strings.HasPrefix(s.Section, "Framework Notification ")
}

// Link returns the URL of the section, or of the specification.
func (s *Sentence) Link() string {
	specification, number := s.Section, ""
	if i := strings.LastIndexByte(s.Section, ' '); i >= 0 {
		specification, number = s.Section[:i], s.Section[i+1:]
	}
	switch specification {
	case "Core":
		if anchor := coreAnchors[number]; anchor != "" {
			return coreURL + "#" + anchor
		}
		return coreURL
	case "RFC 3986", "RFC 9110", "RFC 9309":
		return "https://www.rfc-editor.org/rfc/rfc" + specification[len("RFC "):] + "#section-" + number
	case "Archives":
		return "http://www.openarchives.org/rs/archives"
	case "Change Notification":
		return "http://www.openarchives.org/rs/notification/1.0.1/notification"
	case "Framework Notification":
		return "http://www.openarchives.org/rs/notification/1.0.1/framework_notification"
	case "Notification 0.8":
		return "http://www.openarchives.org/rs/notification/0.8/notification"
	case "WebSub":
		return "https://www.w3.org/TR/2018/REC-websub-20180123/"
	case "ZIP":
		return "https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT"
	}
	switch s.Section {
	case "Sitemap protocol":
		return "https://www.sitemaps.org/protocol.html"
	case "XML":
		return "https://www.w3.org/TR/xml/"
	}
	return "https://pkg.go.dev/github.com/resourcesync-go/resourcesync/" + s.Section
}

const coreURL = "http://www.openarchives.org/rs/1.1/resourcesync"

// coreAnchors are the anchors of the sections of the core specification.
var coreAnchors = map[string]string{
	"4": "Namespaces", "5.1": "SourcePers", "5.2": "DestPers", "6": "FrameworkOrg", "6.1": "Structure", "6.2": "Navigation",
	"6.3.2": "wellknown", "6.3.3": "disco_links", "6.3.4": "robots", "7": "DocumentFormats", "8": "SourceDesc",
	"9": "CapabilityList", "10": "DescResources", "10.1": "ResourceList", "10.2": "ResourceListIndex", "11": "PackResources",
	"11.1": "ResourceDump", "11.2": "ResourceDumpManifest", "12": "DesChanges", "12.1": "ChangeList", "12.2": "ChangeListIndex",
	"13.1": "ChangeDump", "13.2": "ChangeDumpManifest", "14.4": "PatchCon", "14.6": "ResVers", "A": "TimeAttributeReqs",
}

// says returns the same sentence in several sections.
func says(force Force, quote string, sections ...string) []Sentence {
	out := make([]Sentence, len(sections))
	for i, section := range sections {
		out[i] = Sentence{section, force, quote}
	}
	return out
}
