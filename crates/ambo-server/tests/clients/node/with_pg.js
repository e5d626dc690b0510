// What node-postgres does, and what programs with it ask: it says nothing where all is right.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const url = process.argv[2];
const { Client, Pool } = createRequire(`${process.env.MODULES}/package.json`)("pg");

const client = new Client({ connectionString: url });
await client.connect();
await client.query("create table t (id int primary key, name text, n numeric(10, 2), at timestamptz, tags text[])");
const inserted = await client.query(
  "insert into t values ($1, $2, $3, $4, $5) returning id, name",
  [1, "one", "1.50", new Date("2026-01-02T03:04:05Z"), ["a", "b"]],
);
assert.deepEqual(inserted.rows, [{ id: 1, name: "one" }]);
const found = await client.query({ name: "by id", text: "select * from t where id = $1", values: [1] });
assert.equal(found.rows[0].n, "1.50");
assert.equal(found.rows[0].at.toISOString(), "2026-01-02T03:04:05.000Z");
assert.deepEqual(found.rows[0].tags, ["a", "b"]);
assert.deepEqual((await client.query("select count(*), max(id) from t")).rows, [{ count: "1", max: 1 }]);
assert.deepEqual((await client.query("select $1::int as a", ["5"])).rows, [{ a: 5 }]);

// What pg-types' programs ask: types with their arrays.
const types = await client.query(`select b.oid, b.typarray from pg_catalog.pg_type a
  left join pg_catalog.pg_type b on b.oid = a.typelem where a.typcategory = 'A'
  group by b.oid, b.typarray order by b.oid`);
assert.ok(types.rows.some((row) => row.oid === 23 && row.typarray === 1007));
// What migration tools ask.
const columns = await client.query(
  "select column_name, data_type from information_schema.columns where table_schema = $1 and table_name = $2 order by ordinal_position",
  ["public", "t"],
);
assert.deepEqual(columns.rows.map((row) => row.data_type), ["integer", "text", "numeric", "timestamp with time zone", "ARRAY"]);
assert.equal((await client.query("select to_regclass('public.t') is not null as there")).rows[0].there, true);

await client.query("begin");
await assert.rejects(client.query("insert into t (id) values (1)"), (error) => error.code === "23505");
await assert.rejects(client.query("select 1"), (error) => error.code === "25P02");
await client.query("rollback");
await client.end();

const pool = new Pool({ connectionString: url, max: 4 });
const answers = await Promise.all([...Array(20).keys()].map((n) => pool.query("select $1::bigint + 1 as n", [n])));
assert.deepEqual(answers.map((answer) => Number(answer.rows[0].n)), [...Array(20).keys()].map((n) => n + 1));
await pool.end();
