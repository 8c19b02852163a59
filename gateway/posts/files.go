package posts

import (
	"context"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// putFiles keeps the files of parts beside their intents, in the same transaction.
func putFiles(ctx context.Context, tx store.Tx, rows []row) error {
	for _, r := range rows {
		if r.File == nil {
			continue
		}
		// The write of the intents may be repeated when its outcome was lost.
		if _, err := tx.Exec(ctx, `insert into attache.post_files (post, name, mime, data) values ($1, $2, $3, $4) on conflict do nothing`,
			r.id, clean(r.File.Name), clean(r.File.MIME), r.File.Data); err != nil {
			return err
		}
	}
	return nil
}

// fetchFiles reads the files of rows that have not come to their end.
func (o *Office) fetchFiles(ctx context.Context, rows []row) error {
	at, ids := map[int64]int{}, []int64{}
	for i, r := range rows {
		if !r.ended() {
			at[r.id], ids = i, append(ids, r.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := o.db.Pool().Query(ctx, `select post, name, mime, data from attache.post_files where post = any($1)`, ids)
	if err != nil {
		return err
	}
	var id int64
	var f attache.Upload
	_, err = pgx.ForEachRow(found, []any{&id, &f.Name, &f.MIME, &f.Data}, func() error {
		file := f
		rows[at[id]].File, f.Data = &file, nil
		return nil
	})
	return err
}

// dropFile deletes the file of a part that has come to its end.
func dropFile(ctx context.Context, tx store.Tx, r row) error {
	if r.File == nil {
		return nil
	}
	_, err := tx.Exec(ctx, `delete from attache.post_files where post = $1`, r.id)
	return err
}

func filed(rows []row) bool {
	for _, r := range rows {
		if r.File != nil {
			return true
		}
	}
	return false
}
