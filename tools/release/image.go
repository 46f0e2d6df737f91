package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

const source = "https://github.com/resourcesync-go/resourcesync"

// A descriptor refers to a blob of an image.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type index struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Manifests     []descriptor      `json:"manifests"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// An imageConfig is what a container of the image runs. deploy/Dockerfile says the same.
type imageConfig struct {
	Created time.Time `json:"created"`
	platform
	Config struct {
		User         string
		ExposedPorts map[string]struct{}
		Entrypoint   []string
		Cmd          []string
		Volumes      map[string]struct{}
		WorkingDir   string
		Labels       map[string]string
		StopSignal   string
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// A loadable is an image in manifest.json, from which Docker loads images if it keeps them
// without containerd.
type loadable struct {
	Config   string
	RepoTags []string
	Layers   []string
}

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// blobs are the contents of an image by their digests.
type blobs map[string][]byte

func (b blobs) add(mediaType string, content []byte) descriptor {
	digest := digest(content)
	b[digest] = content
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(content)}
}

func (b blobs) addJSON(mediaType string, v any) (descriptor, error) {
	text, err := json.Marshal(v)
	return b.add(mediaType, text), err
}

// writeImage writes programs for Linux as an image for their architectures: a tar file with
// the layout of OCI.
func writeImage(w io.Writer, version string, made time.Time, programs []string) error {
	contents := make(blobs)
	notes := map[string]string{
		"org.opencontainers.image.title":    "resourcesync",
		"org.opencontainers.image.version":  version,
		"org.opencontainers.image.created":  made.Format(time.RFC3339),
		"org.opencontainers.image.source":   source,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	all := index{SchemaVersion: 2, MediaType: indexType, Annotations: notes}
	var loadables []loadable
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return err
		}
		if os := setting(info, "GOOS"); os != "linux" {
			return fmt.Errorf("%s is a program for %s, not for linux", program, os)
		}
		packed, plain, err := layer(program, made)
		if err != nil {
			return err
		}
		c := imageConfig{Created: made, platform: platform{setting(info, "GOARCH"), "linux"}}
		c.Config.User = "65532:65532"
		c.Config.ExposedPorts = map[string]struct{}{"8080/tcp": {}}
		c.Config.Entrypoint = []string{"/resourcesync"}
		c.Config.Cmd = []string{"help"}
		c.Config.Volumes = map[string]struct{}{"/state": {}}
		c.Config.WorkingDir = "/"
		c.Config.Labels = notes
		c.Config.StopSignal = "SIGTERM"
		c.RootFS.Type = "layers"
		c.RootFS.DiffIDs = []string{plain}
		config, err := contents.addJSON(configType, c)
		if err != nil {
			return err
		}
		m := manifest{SchemaVersion: 2, MediaType: manifestType, Config: config, Layers: []descriptor{contents.add(layerType, packed)}, Annotations: notes}
		d, err := contents.addJSON(manifestType, m)
		if err != nil {
			return err
		}
		d.Platform = &c.platform
		all.Manifests = append(all.Manifests, d)
		loadables = append(loadables, loadable{
			Config: blobName(config.Digest), RepoTags: []string{"resourcesync:" + version + "-" + c.Architecture}, Layers: []string{blobName(m.Layers[0].Digest)},
		})
	}
	top, err := contents.addJSON(indexType, all)
	if err != nil {
		return err
	}
	top.Annotations = map[string]string{
		"io.containerd.image.name":          "docker.io/library/resourcesync:" + version,
		"org.opencontainers.image.ref.name": version,
	}
	return contents.write(w, made, index{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{top}}, loadables)
}

// write writes the tar file of an image.
func (b blobs) write(w io.Writer, made time.Time, top index, images []loadable) error {
	layout, err := json.Marshal(map[string]string{"imageLayoutVersion": "1.0.0"})
	if err != nil {
		return err
	}
	list, err := json.Marshal(top)
	if err != nil {
		return err
	}
	loads, err := json.Marshal(images)
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	files := []file{
		{name: "oci-layout", content: layout},
		{name: "index.json", content: list},
		{name: "manifest.json", content: loads},
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
	}
	var digests []string
	for digest := range b {
		digests = append(digests, digest)
	}
	slices.Sort(digests)
	for _, digest := range digests {
		files = append(files, file{name: blobName(digest), content: b[digest]})
	}
	for _, f := range files {
		if err := f.write(t, made); err != nil {
			return err
		}
	}
	return t.Close()
}

func blobName(digest string) string { return "blobs/sha256/" + digest[len("sha256:"):] }

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// A file is written into a tar file; a folder if its name ends with a slash. Without a mode,
// everybody can read it.
type file struct {
	name    string
	content []byte
	mode    int64
	owner   int // also of the group
}

func (f file) write(w *tar.Writer, made time.Time) error {
	h := &tar.Header{
		Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.content)), ModTime: made, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
	}
	if h.Mode == 0 {
		h.Mode = 0o644
	}
	if f.name[len(f.name)-1] == '/' {
		h.Typeflag = tar.TypeDir
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(w, bytes.NewReader(f.content))
	return err
}
