// What pgx does: it says nothing where all is right.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func same(found, wanted any) {
	if !reflect.DeepEqual(found, wanted) {
		panic(fmt.Sprintf("%v, not %v", found, wanted))
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, os.Args[1])
	must(err)
	defer conn.Close(ctx)
	must(conn.Ping(ctx))
	exec := func(sql string, args ...any) {
		_, err := conn.Exec(ctx, sql, args...)
		must(err)
	}
	exec("create table t (id int primary key, name text, tags text[])")
	exec("insert into t values ($1, $2, $3)", 1, "one", []string{"a", "b"})
	var name string
	var tags []string
	must(conn.QueryRow(ctx, "select name, tags from t where id = $1", 1).Scan(&name, &tags))
	same(name, "one")
	same(tags, []string{"a", "b"})

	// COPY, by rows.
	rows := [][]any{{2, "two", nil}, {3, "three", []string{}}}
	count, err := conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id", "name", "tags"}, pgx.CopyFromRows(rows))
	must(err)
	same(count, int64(2))

	// A batch is one transaction.
	batch := &pgx.Batch{}
	batch.Queue("insert into t values (4, 'four', null)")
	batch.Queue("insert into t values (1, 'again', null)")
	err = conn.SendBatch(ctx, batch).Close()
	var failed *pgconn.PgError
	if !errors.As(err, &failed) || failed.Code != "23505" {
		panic(fmt.Sprint("the key was there: ", err))
	}
	var rowsThere int64
	must(conn.QueryRow(ctx, "select count(*) from t").Scan(&rowsThere))
	same(rowsThere, int64(3))

	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	must(err)
	inner, err := tx.Begin(ctx)
	must(err)
	_, err = inner.Exec(ctx, "delete from t")
	must(err)
	must(inner.Rollback(ctx))
	must(tx.Commit(ctx))

	// What it asks of types that it does not know.
	var oid, typeOid uint32
	must(conn.QueryRow(ctx, "select $1::text::regtype::oid", "int4").Scan(&oid))
	same(oid, uint32(23))
	must(conn.QueryRow(ctx, "select 't'::regclass::oid").Scan(&oid))
	must(conn.QueryRow(ctx, "select oid from pg_type where typrelid = $1", oid).Scan(&typeOid))
	found, err := conn.Query(ctx, "select attname, atttypid from pg_attribute where attrelid = $1 and not attisdropped and attnum > 0 order by attnum", oid)
	must(err)
	type column struct {
		Name string
		Type uint32
	}
	columns, err := pgx.CollectRows(found, pgx.RowToStructByPos[column])
	must(err)
	same(columns, []column{{"id", 23}, {"name", 25}, {"tags", 1009}})

	// An enum, by the type that it is.
	exec("create type mood as enum ('sad', 'ok')")
	mood, err := conn.LoadType(ctx, "mood")
	must(err)
	same(mood.Name, "mood")
}
