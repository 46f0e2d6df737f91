package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// A component is a component in the sense of CycloneDX 1.6.
type component struct {
	Type     string     `json:"type"`
	Ref      string     `json:"bom-ref"`
	Name     string     `json:"name"`
	Version  string     `json:"version"`
	Licenses []license  `json:"licenses,omitempty"`
	Hashes   []hash     `json:"hashes,omitempty"`
	PURL     string     `json:"purl,omitempty"`
	Facts    []property `json:"properties,omitempty"`
}

type license struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

type bom struct {
	Schema   string `json:"$schema"`
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Version  int    `json:"version"`
	Metadata struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

// writeSBOM writes what programs are made of, as CycloneDX: the programs with their digests,
// and the modules that the linker has recorded in them. The modules of the platforms differ a
// little.
func writeSBOM(w io.Writer, version string, programs []string) error {
	b := bom{Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1}
	modules := make(map[string]component)
	for _, name := range programs {
		info, err := buildinfo.ReadFile(name)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		digest := sha256.Sum256(content)
		b.Metadata.Component = component{
			Type: "application", Ref: purl(info.Main.Path, version), Name: info.Main.Path, Version: version, PURL: purl(info.Main.Path, version),
		}
		b.Metadata.Component.Licenses = make([]license, 1)
		b.Metadata.Component.Licenses[0].License.ID = "Apache-2.0"
		platform := setting(info, "GOOS") + "/" + setting(info, "GOARCH")
		program := component{
			Type: "file", Ref: "program:" + platform, Name: filepath.Base(name), Version: version,
			Hashes: []hash{{"SHA-256", hex.EncodeToString(digest[:])}},
			Facts:  []property{{"platform", platform}},
		}
		uses := dependency{Ref: program.Ref}
		for _, m := range append(info.Deps, &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}) {
			if m.Replace != nil {
				m = m.Replace
			}
			c := component{Type: "library", Ref: purl(m.Path, m.Version), Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version)}
			// h1 is the SHA-256 of the names and digests of the files, as in go.sum.
			if sum, found := strings.CutPrefix(m.Sum, "h1:"); found {
				raw, err := base64.StdEncoding.DecodeString(sum)
				if err != nil {
					return fmt.Errorf("%s: sum of %s: %w", name, m.Path, err)
				}
				c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
			}
			modules[c.Ref] = c
			uses.On = append(uses.On, c.Ref)
		}
		b.Components = append(b.Components, program)
		b.Dependencies = append(b.Dependencies, uses)
	}
	root := dependency{Ref: b.Metadata.Component.Ref}
	for _, program := range b.Components {
		root.On = append(root.On, program.Ref)
	}
	b.Dependencies = append(b.Dependencies, root)
	for _, c := range modules {
		b.Components = append(b.Components, c)
	}
	slices.SortFunc(b.Components, func(c, d component) int { return cmp.Compare(c.Ref, d.Ref) })
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(b)
}

func purl(module, version string) string {
	return "pkg:golang/" + module + "@" + strings.ReplaceAll(version, "+", "%2B")
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
