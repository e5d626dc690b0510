-- What other programs ask: information_schema, Grafana, dbt, pgAdmin, Npgsql.
-- [more] simple
select table_catalog, table_schema, table_name, table_type, is_insertable_into from information_schema.tables where table_schema = 'public' and table_type <> 'VIEW' order by 1, 2, 3;

select table_name, column_name, ordinal_position, column_default, is_nullable, data_type, character_maximum_length, character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision, udt_schema, udt_name, is_identity, identity_generation, identity_start, is_generated from information_schema.columns where table_schema = 'public' and table_name <> 'late' order by 1, 3;

select constraint_schema, constraint_name, table_schema, table_name, constraint_type, is_deferrable, initially_deferred, enforced, nulls_distinct from information_schema.table_constraints where table_schema = 'public';

select constraint_name, table_name, column_name, ordinal_position, position_in_unique_constraint from information_schema.key_column_usage where table_schema = 'public';

select constraint_name, table_name, column_name from information_schema.constraint_column_usage where table_schema = 'public';

select constraint_name, unique_constraint_schema, unique_constraint_name, match_option, update_rule, delete_rule from information_schema.referential_constraints;

select constraint_name from information_schema.check_constraints where constraint_schema = 'public';

select sequence_name, data_type, numeric_precision, start_value, minimum_value, maximum_value, increment, cycle_option from information_schema.sequences;

select schema_name, schema_owner from information_schema.schemata where schema_name in ('public', 'pg_catalog', 'information_schema');

select catalog_name from information_schema.information_schema_catalog_name where current_database() = 'ambo';

select current_user, session_user, user, current_database(), current_catalog, current_schema(), current_schema, current_schemas(false), current_schemas(true);

select current_setting('server_version_num')::int / 100 as version, current_setting('no.such', true) as nothing;

select quote_ident(table_name) from information_schema.tables where quote_ident(table_schema) not in ('information_schema', 'pg_catalog', '_timescaledb_cache') order by case when quote_ident(table_schema) = 'public' then 0 else 1 end, 1;

select array_lower(conkey, 1), array_upper(conkey, 1), array_lower(indkey, 1) from pg_constraint join pg_index on conindid = indexrelid where conname = 'orders_customer_at_key';

select format_type(23, null), format_type(1043, 14), format_type(1700, 786438), format_type(1009, null), format_type(0, null), format_type(16, -1), format_type(1184, null) from pg_class where relname = 'pg_class';

select 'customers'::regclass, 'public.orders'::regclass::oid = (select oid from pg_class where relname = 'orders'), 'int4'::regtype, 'mood'::regtype::text, 'mood[]'::regtype, 'public'::regnamespace, 'integer'::regtype::oid;

select to_regclass('nothing') is null, to_regtype('text'), to_regclass('information_schema.columns'), to_regnamespace('public');

select n.nspname, t.typname, e.enumlabel, e.enumsortorder from pg_type t join pg_enum e on e.enumtypid = t.oid join pg_namespace n on n.oid = t.typnamespace order by 4;

select typname, typlen, typbyval, typtype, typcategory, typdelim, typalign, typstorage, typinput, typoutput, typreceive, typsend from pg_type where typname in ('mood', '_mood', 'people', '_people');

select schemaname, tablename, tableowner, tablespace, hasindexes, hasrules, hastriggers, rowsecurity from pg_tables where schemaname = 'public';

select schemaname, viewname, viewowner from pg_catalog.pg_views where schemaname = 'public';

select schemaname, tablename, indexname, tablespace, indexdef from pg_catalog.pg_indexes where schemaname = 'public';

select schemaname, sequencename, start_value, min_value, max_value, increment_by, cycle, cache_size from pg_catalog.pg_sequences;

select indexrelid::regclass, indrelid::regclass, indnatts, indnkeyatts, indisunique, indisprimary, indkey, indoption, indclass, indcollation from pg_index where indrelid in (select oid from pg_class where relnamespace = 2200);

select conname, contype, conrelid::regclass, conindid::regclass, confrelid::regclass, conkey, confkey, confupdtype, confdeltype, confmatchtype, condeferrable, connoinherit from pg_constraint where connamespace = 2200;

select attname, attlen, attndims, attnotnull, atthasdef, attidentity, attgenerated, attbyval, attalign, attstorage, attcollation, atttypmod from pg_attribute where attrelid = 'people'::regclass and attnum > 0 order by attnum;

select pg_get_serial_sequence('orders', 'id'), pg_get_serial_sequence('customers', 'id'), col_description('customers'::regclass, 1), obj_description('customers'::regclass, 'pg_class');

select has_table_privilege('customers', 'select'), has_schema_privilege('public', 'usage'), pg_is_in_recovery(), pg_my_temp_schema(), pg_encoding_to_char(6), pg_size_pretty(12345::bigint), pg_size_pretty(123456789::bigint);

select relname from pg_class where relname = any('{customers,orders}') and relkind = any(array['r', 'v']) and oid <> all('{1,2}'::oid[]);

select distinct dependent.relname as dependent, referenced.relname as referenced from pg_depend d join pg_rewrite r on d.objid = r.oid and d.classid = 'pg_rewrite'::regclass join pg_class dependent on r.ev_class = dependent.oid join pg_class referenced on d.refobjid = referenced.oid and d.refclassid = 'pg_class'::regclass where d.deptype = 'n' and dependent.relnamespace = 2200 and referenced.relname <> dependent.relname;

select ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid from (select typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind, elemtyp.oid as elemtypoid, elemtyp.typname as elemtypname, elemcls.relkind as elemrelkind, case when elemproc.proname = 'array_recv' then 'a' else elemtyp.typtype end as elemtyptype, typ.typcategory from (select typ.oid, typnamespace, typname, typrelid, typnotnull, relkind, typelem as elemoid, typcategory, case when proc.proname = 'array_recv' then 'a' else typ.typtype end as typtype, case when proc.proname = 'array_recv' then typ.typelem when typ.typtype = 'r' then rngsubtype when typ.typtype = 'd' then typ.typbasetype end as elemtypoid from pg_type as typ left join pg_class as cls on (cls.oid = typ.typrelid) left join pg_proc as proc on proc.oid = typ.typreceive left join pg_range on (pg_range.rngtypid = typ.oid)) as typ left join pg_type as elemtyp on elemtyp.oid = elemtypoid left join pg_class as elemcls on (elemcls.oid = elemtyp.typrelid) left join pg_proc as elemproc on elemproc.oid = elemtyp.typreceive) as t join pg_namespace as ns on (ns.oid = typnamespace) where typtype in ('e') and relkind is null and ns.nspname = 'public';
