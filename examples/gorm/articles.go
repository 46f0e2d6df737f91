package main

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gorilla/mux"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// An Article is a row. GORM sets DeletedAt in place of deleting it.
type Article struct {
	Slug      string `gorm:"primaryKey;size:100"`
	Text      string
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
}

// newApp returns the handler of articles that can be read, written and deleted.
func newApp(db *gorm.DB) (http.Handler, error) {
	if err := db.AutoMigrate(&Article{}); err != nil {
		return nil, err
	}
	router := mux.NewRouter()
	router.HandleFunc("/articles/{slug}", func(w http.ResponseWriter, r *http.Request) {
		var a Article
		if err := db.WithContext(r.Context()).First(&a, "slug = ?", mux.Vars(r)["slug"]).Error; err != nil {
			answer(w, err)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, a.Text)
	}).Methods("GET", "HEAD")
	router.HandleFunc("/articles/{slug}", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "an article has at most 1 MiB", http.StatusRequestEntityTooLarge)
			return
		}
		a := Article{Slug: mux.Vars(r)["slug"], Text: string(text)} // an article that was deleted comes back
		answer(w, db.WithContext(r.Context()).Clauses(clause.OnConflict{UpdateAll: true}).Create(&a).Error)
	}).Methods("PUT")
	router.HandleFunc("/articles/{slug}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, db.WithContext(r.Context()).Delete(&Article{Slug: mux.Vars(r)["slug"]}).Error)
	}).Methods("DELETE")
	return router, nil
}

func answer(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, gorm.ErrRecordNotFound):
		http.Error(w, "there is no such article", http.StatusNotFound)
	default:
		http.Error(w, "the database does not answer", http.StatusInternalServerError)
	}
}
