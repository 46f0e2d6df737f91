package dir

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Litter has patterns for [Options.ExcludePatterns]: files and folders that systems, office
// programs and network drives leave beside the files of people.
var Litter = []string{
	".DS_Store", "._*", // macOS
	"Thumbs.db", "desktop.ini", "$RECYCLE.BIN", "System Volume Information", // Windows
	"~$*", ".~lock.*#", // open documents of Microsoft Office and LibreOffice
	"*.tmp",
	"@eaDir", "#recycle", // Synology
}

// A pattern excludes files and folders.
type pattern struct {
	glob    string // for path.Match
	whole   bool   // matches the key, not the name alone
	folders bool   // matches no files
}

// errPattern names the valid forms of a pattern.
var errPattern = errors.New("give a name such as Thumbs.db or *.tmp, a path such as drafts/2026, or a folder such as drafts/")

// CheckPattern returns an error if a pattern for [Options.ExcludePatterns] is not valid. It
// names the valid forms.
func CheckPattern(text string) error {
	_, err := parsePattern(text)
	return err
}

func parsePattern(text string) (p pattern, err error) {
	p.glob, p.folders = strings.CutSuffix(text, "/")
	p.whole = strings.Contains(p.glob, "/")
	p.glob = strings.TrimPrefix(p.glob, "/")
	for part := range strings.SplitSeq(p.glob, "/") {
		if part == "" || part == "." || part == ".." {
			return p, errPattern // no key has this part
		}
	}
	if _, err := path.Match(p.glob, ""); err != nil {
		return p, errPattern // for example a [ without a ]
	}
	return p, nil
}

func parsePatterns(texts []string) (all []pattern, err error) {
	for _, text := range texts {
		p, err := parsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("dir: ExcludePatterns: %q: %w", text, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// matches reports whether p excludes the file or folder at key, whose last element is name.
func (p pattern) matches(key, name string, isDir bool) bool {
	if p.folders && !isDir {
		return false
	}
	if p.whole {
		name = key
	}
	match, _ := path.Match(p.glob, name) // parsePattern has found its errors
	return match
}

// isExcluded reports whether a pattern excludes the file or folder at key itself.
func (d *Dir) isExcluded(key, name string, isDir bool) bool {
	return slices.ContainsFunc(d.patterns, func(p pattern) bool { return p.matches(key, name, isDir) })
}

// Excludes implements [scan.Excluder]: it reports whether [Options.ExcludePatterns] excludes the
// file at key, or a folder on its path.
func (d *Dir) Excludes(key string) bool {
	start := 0
	for end := range len(key) {
		if key[end] == '/' {
			if d.isExcluded(key[:end], key[start:end], true) {
				return true
			}
			start = end + 1
		}
	}
	return d.isExcluded(key, key[start:], false)
}
