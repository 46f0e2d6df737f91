package dir

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// sourceTree writes a folder with typical sizes and depths of a source tree: 3,000
// files with a median of 4 KB, 40 MB in all.
func sourceTree(b *testing.B) (root string, files int, size int64) {
	root = b.TempDir()
	random := rand.New(rand.NewPCG(3, 4))
	body := bytes.Repeat([]byte("func main() { fmt.Println(0) }\n"), 100_000)
	for files < 3000 {
		n := min(int(4000*math.Exp(1.5*random.NormFloat64())), len(body))
		key := fmt.Sprintf("%d/%d/%d.go", random.IntN(20), random.IntN(10), files)
		write(b, root, key, string(body[:n]))
		files, size = files+1, size+int64(n)
	}
	return root, files, size
}

func report(b *testing.B, files int) {
	b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s")
}

// BenchmarkScan reads every file. Compare with BenchmarkPlainWalk.
func BenchmarkScan(b *testing.B) {
	root, files, size := sourceTree(b)
	d := openDir(b, root, nil)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		scanAll(b, d, files)
	}
	report(b, files)
}

// BenchmarkRescan reads no file, as none has changed.
func BenchmarkRescan(b *testing.B) {
	root, files, _ := sourceTree(b)
	d := openDir(b, root, nil)
	d.known = memory(complete(b, d)).lookup
	b.ReportAllocs()
	for b.Loop() {
		scanAll(b, d, files)
	}
	report(b, files)
}

func scanAll(b *testing.B, d *Dir, want int) {
	n := 0
	for _, err := range d.Resources(b.Context()) {
		if !errors.Is(err, resourcesync.ErrUnchanged) {
			must(b, err)
		}
		n++
	}
	if n != want {
		b.Fatalf("found %d, want %d", n, want)
	}
}

// BenchmarkPlainWalk measures the simplest code: a walk, and a copy of each file to a
// digest.
func BenchmarkPlainWalk(b *testing.B) {
	root, files, size := sourceTree(b)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		must(b, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			digest := sha256.New()
			if _, err := io.Copy(digest, f); err != nil {
				return err
			}
			digest.Sum(nil)
			return nil
		}))
	}
	report(b, files)
}

// BenchmarkPlainStat walks and calls Stat for each file.
func BenchmarkPlainStat(b *testing.B) {
	root, files, _ := sourceTree(b)
	b.ReportAllocs()
	for b.Loop() {
		must(b, filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			_, err = e.Info()
			return err
		}))
	}
	report(b, files)
}

// BenchmarkOpen opens a file two folders down. Compare with BenchmarkPlainOpen.
func BenchmarkOpen(b *testing.B) {
	d := oneFile(b)
	b.ReportAllocs()
	for b.Loop() {
		f, _, err := d.open("a/b/c.txt")
		must(b, err)
		f.Close()
	}
}

func BenchmarkPlainOpen(b *testing.B) {
	root, err := os.OpenRoot(oneFile(b).path)
	must(b, err)
	defer root.Close()
	b.ReportAllocs()
	for b.Loop() {
		f, err := root.Open("a/b/c.txt")
		must(b, err)
		f.Close()
	}
}

func oneFile(b *testing.B) *Dir {
	here := b.TempDir()
	write(b, here, "a/b/c.txt", "text")
	return openDir(b, here, nil)
}
