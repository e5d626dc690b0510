//! Features of GeoJSON as rows, and back; JSON that is no objects; forms of days and moments in files.

use ambo_sql::Database;

use crate::common::{refused, rows, sound, written};

#[test]
fn features_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let db = Database::in_memory().unwrap();
    let mut c = db.connect();
    c.script(
        "create table places (id integer primary key, name text, geom geometry);
         insert into places values (1, 'a', 'POINT(1 2)'), (2, 'b', 'LINESTRING(0 0, 3 4)'), (3, null, null)",
    )
    .unwrap();
    let text = |file: &str| std::fs::read_to_string(at(file)).unwrap();
    assert_eq!(written(&mut c, &format!("copy places to '{}'", at("p.geojson"))), 3);
    let line = "\"type\":\"Feature\",\"id\":1,\"geometry\":{\"type\":\"Point\",\"coordinates\":[1.0,2.0]},\"properties\":{\"name\":\"a\"}}";
    assert!(
        text("p.geojson")
            .starts_with(&format!("{{\"type\":\"FeatureCollection\",\"features\":[\n\t{{{line}"))
    );
    let options = "(format geojson, array false, bbox true, id_column name)";
    assert_eq!(written(&mut c, &format!("copy places to '{}' {options}", at("p.geojsonl"))), 3);
    assert!(text("p.geojsonl").contains("\"bbox\":[0.0,0.0,3.0,4.0],\"properties\":{\"id\":2}}"));
    let expected = "1, a, POINT (1 2)\n2, b, LINESTRING (0 0, 3 4)\n3, NULL, NULL";
    let read = format!("select id, name, geometry from '{}' order by id", at("p.geojson"));
    assert_eq!(rows(&mut c, &read), expected);
    let read = format!("select typeof(geometry), id, bbox from '{}' where id = 'b'", at("p.geojsonl"));
    assert_eq!(rows(&mut c, &read), "geometry, b, [0.0, 0.0, 3.0, 4.0]");
    c.sql("create table other (geometry geometry, name text, id integer)").unwrap();
    assert_eq!(written(&mut c, &format!("copy other from '{}' (format geojson)", at("p.geojson"))), 3);
    assert_eq!(rows(&mut c, "select id, name, geometry from other order by id"), expected);
    // What says otherwise is plain JSON.
    let plain = format!("select count(*) from read_json('{}', geojson = false)", at("p.geojson"));
    assert_eq!(rows(&mut c, &plain), "1");
    for (statement, what) in [
        ("copy (select 1 as id) to 'F' (format geojson)", "no column is one"),
        ("copy places to 'F' (format geojson, id_column nope)", "no column \"nope\""),
        ("copy places to 'F' (format geojson, geometry_column name)", "is no geometry"),
        ("copy places to 'F' (format geojson, id_column geom)", "two columns"),
        ("copy places to 'F' (format json, bbox true)", "no option BBOX"),
    ] {
        let error = refused(&mut c, &statement.replace('F', &at("wrong")));
        assert!(error.message().contains(what), "{statement}: {error}");
    }
    std::fs::write(at("bad.geojsonl"), "{\"type\":\"Point\",\"coordinates\":[\"a\",2]}\n").unwrap();
    let error = refused(&mut c, &format!("select * from '{}'", at("bad.geojsonl")));
    assert!(error.message().contains("no number"), "{error}");
    let lenient = format!("select geometry from read_json('{}', ignore_errors = true)", at("bad.geojsonl"));
    assert_eq!(rows(&mut c, &lenient), "NULL");
    drop(c);
    sound(&db);
}

#[test]
fn values_that_are_no_objects_are_a_column() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let mut c = Database::in_memory().unwrap().connect();
    std::fs::write(at("n.json"), "[1, 2, 3]").unwrap();
    assert_eq!(rows(&mut c, &format!("select sum(json) from '{}'", at("n.json"))), "6");
    let error = refused(&mut c, &format!("select * from read_json('{}', records = true)", at("n.json")));
    assert!(error.message().contains("no JSON object"), "{error}");
    std::fs::write(at("o.json"), "{\"a\": 1}\n{\"a\": 2}\n").unwrap();
    let read = format!(
        "select j ->> 'a' from read_json('{}', records = false, columns = {{j: 'json'}})",
        at("o.json")
    );
    assert_eq!(rows(&mut c, &read), "1\n2");
}

#[test]
fn days_and_moments_have_forms() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("d.csv").display().to_string();
    let mut c = Database::in_memory().unwrap().connect();
    let query = "select date '2024-03-05' as d, timestamp '2024-03-05 06:07:08' as t, 1 as n";
    let options = "(dateformat '%d-%m-%Y', timestampformat '%H:%M')";
    assert_eq!(written(&mut c, &format!("copy ({query}) to '{file}' {options}")), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "d,t,n\n05-03-2024,06:07,1\n");
}
