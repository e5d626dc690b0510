create table region (r_regionkey bigint primary key, r_name text not null, r_comment text not null);
create table nation (n_nationkey bigint primary key, n_name text not null, n_regionkey bigint not null, n_comment text not null);
create table supplier (s_suppkey bigint primary key, s_name text not null, s_address text not null, s_nationkey bigint not null,
    s_phone text not null, s_acctbal decimal(15, 2) not null, s_comment text not null);
create table customer (c_custkey bigint primary key, c_name text not null, c_address text not null, c_nationkey bigint not null,
    c_phone text not null, c_acctbal decimal(15, 2) not null, c_mktsegment text not null, c_comment text not null);
create table part (p_partkey bigint primary key, p_name text not null, p_mfgr text not null, p_brand text not null, p_type text not null,
    p_size int not null, p_container text not null, p_retailprice decimal(15, 2) not null, p_comment text not null);
create table partsupp (ps_partkey bigint, ps_suppkey bigint, ps_availqty int not null, ps_supplycost decimal(15, 2) not null,
    ps_comment text not null, primary key (ps_partkey, ps_suppkey));
create table orders (o_orderkey bigint primary key, o_custkey bigint not null, o_orderstatus text not null,
    o_totalprice decimal(15, 2) not null, o_orderdate date not null, o_orderpriority text not null, o_clerk text not null,
    o_shippriority int not null, o_comment text not null);
create table lineitem (l_orderkey bigint, l_partkey bigint not null, l_suppkey bigint not null, l_linenumber int,
    l_quantity decimal(15, 2) not null, l_extendedprice decimal(15, 2) not null, l_discount decimal(15, 2) not null,
    l_tax decimal(15, 2) not null, l_returnflag text not null, l_linestatus text not null, l_shipdate date not null,
    l_commitdate date not null, l_receiptdate date not null, l_shipinstruct text not null, l_shipmode text not null,
    l_comment text not null, primary key (l_orderkey, l_linenumber));
