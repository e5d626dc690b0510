// Loads Ambo's driver of ADBC by Go's driver manager: main LIBRARY DIRECTORY, with the folder of its manifest in ADBC_DRIVER_PATH.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/drivermgr"
	"github.com/apache/arrow-adbc/go/adbc/sqldriver"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func done(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func holds(what bool, why string, values ...any) {
	if !what {
		log.Fatalf(why, values...)
	}
}

// Rows of a table that goes in.
func towns() arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	builder.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3}, nil)
	builder.Field(1).(*array.StringBuilder).AppendValues([]string{"Bergen", "Cork", ""}, []bool{true, true, false})
	return builder.NewRecordBatch()
}

// How many rows a query has, and the values of its first column, which are integers.
func integers(ctx context.Context, con adbc.Connection, query string) []int64 {
	statement := must(con.NewStatement())
	defer statement.Close()
	done(statement.SetSqlQuery(query))
	reader, _, err := statement.ExecuteQuery(ctx)
	done(err)
	defer reader.Release()
	var values []int64
	for reader.Next() {
		column := reader.RecordBatch().Column(0).(*array.Int64)
		for row := 0; row < column.Len(); row++ {
			values = append(values, column.Value(row))
		}
	}
	done(reader.Err())
	return values
}

func execute(ctx context.Context, con adbc.Connection, query string) int64 {
	statement := must(con.NewStatement())
	defer statement.Close()
	done(statement.SetSqlQuery(query))
	return must(statement.ExecuteUpdate(ctx))
}

func ingested(ctx context.Context, con adbc.Connection) {
	statement := must(con.NewStatement())
	defer statement.Close()
	done(statement.SetOption(adbc.OptionKeyIngestTargetTable, "towns"))
	done(statement.SetOption(adbc.OptionKeyIngestMode, adbc.OptionValueIngestModeCreate))
	rows := towns()
	defer rows.Release()
	done(statement.Bind(ctx, rows))
	holds(must(statement.ExecuteUpdate(ctx)) == 3, "ingest")
}

func transactions(ctx context.Context, con adbc.Connection) {
	options := con.(adbc.PostInitOptions)
	done(options.SetOption(adbc.OptionKeyAutoCommit, adbc.OptionValueDisabled))
	holds(execute(ctx, con, "delete from towns where id = 1") == 1, "delete")
	done(con.Rollback(ctx))
	execute(ctx, con, "delete from towns where id = 2")
	done(con.Commit(ctx))
	done(options.SetOption(adbc.OptionKeyAutoCommit, adbc.OptionValueEnabled))
	left := integers(ctx, con, "select id from towns order by id")
	holds(len(left) == 2 && left[0] == 1 && left[1] == 3, "after the transactions: %v", left)
}

func errorsHaveStates(ctx context.Context, con adbc.Connection) {
	statement := must(con.NewStatement())
	defer statement.Close()
	done(statement.SetSqlQuery("select * from nowhere"))
	_, _, err := statement.ExecuteQuery(ctx)
	var told adbc.Error
	holds(errors.As(err, &told), "an error of ADBC's: %v", err)
	holds(string(told.SqlState[:]) == "42P01", "the state is %s", told.SqlState)
}

// The same by Go's own interface of databases, and by the name of the driver, which a manifest has.
func standard(path string) {
	sql.Register("ambo", sqldriver.Driver{Driver: drivermgr.Driver{}})
	db := must(sql.Open("ambo", "driver=ambo;uri=ambo://"+path))
	defer db.Close()
	var name string
	done(db.QueryRow("select name from towns where id = ?", int64(1)).Scan(&name))
	holds(name == "Bergen", "the name is %s", name)
}

func main() {
	ctx := context.Background()
	library, path := os.Args[1], os.Args[2]
	db := must((drivermgr.Driver{}).NewDatabase(map[string]string{
		"driver": library, "entrypoint": "AdbcDriverAmboInit", adbc.OptionKeyURI: "ambo://" + path,
	}))
	con := must(db.Open(ctx))
	ingested(ctx, con)
	transactions(ctx, con)
	errorsHaveStates(ctx, con)
	schema := must(con.GetTableSchema(ctx, nil, nil, "towns"))
	holds(schema.NumFields() == 2 && schema.Field(1).Name == "name", "the schema is %v", schema)
	standard(path)
	done(con.Close())
	done(db.Close())
	fmt.Println("sound")
}
