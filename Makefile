# Ambo. `make demo` shows what it does on real data, `make test` proves it.
CARGO ?= cargo
# CI keeps its target directory outside the checkout, so that the next run is incremental.
SEEDS ?= 10000
ROUNDS ?= 200
DATABASES ?= 1000
STEPS ?= 120
SEED ?= 1
ORACLES ?= sqlite duckdb norec tlp
# Seconds for each fuzz target.
TIME ?= 60
# Flags for the benchmarks, such as --records 1M --suite kekskv.
BENCH ?=

TARGET_DIR := $(shell $(CARGO) metadata --format-version 1 --no-deps 2>/dev/null | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
DUCKDB_VENV := $(TARGET_DIR)/duckdb-venv
DUCKDB_PYTHON := $(DUCKDB_VENV)/bin/python
PACKAGE_VENV := $(TARGET_DIR)/package-venv
PACKAGE_PYTHON := $(PACKAGE_VENV)/bin/python
ADBC_GO := $(TARGET_DIR)/adbc-go
SERVER_VENV := $(TARGET_DIR)/server-venv
SERVER_NODE := $(TARGET_DIR)/server-node
SERVER_JARS := $(TARGET_DIR)/server-jars
SERVER_PGX := $(TARGET_DIR)/server-pgx
SERVER_PYTHON := $(SERVER_VENV)/bin/python
CONSOLE_MODULES := $(TARGET_DIR)/console-modules

.PHONY: server-clients demo test endurance wheel sdist header install-c install-ups bench bench-codecs bench-columns bench-sql bench-python bench-quick weight differential differential-long lint crash fuzz doc book install

demo:
	$(CARGO) build --release -p ambo-cli -p ambo-tools -p ambo-python
	CARGO="$(CARGO)" demo/run.sh

test: lint $(DUCKDB_VENV)/made $(PACKAGE_VENV)/made $(ADBC_GO) server-clients $(CONSOLE_MODULES)/made
	AMBO_DUCKDB_PYTHON=$(DUCKDB_PYTHON) AMBO_PYTHON=$(PACKAGE_PYTHON) AMBO_ADBC_GO=$(ADBC_GO) AMBO_SERVER_PYTHON=$(SERVER_PYTHON) AMBO_SERVER_NODE=$(SERVER_NODE) AMBO_SERVER_JARS=$(SERVER_JARS) AMBO_SERVER_PGX=$(SERVER_PGX) AMBO_CONSOLE_MODULES=$(CONSOLE_MODULES) $(CARGO) test --workspace --exclude ambo-bench
	$(CARGO) test -p ambo --features arrow
	$(CARGO) test -p ambo-engine --features shuttle --lib -- schedules shuttle_tests

lint:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --exclude ambo-bench --all-targets -- -D warnings
	$(CARGO) clippy -p ambo --features arrow --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --exclude ambo-bench --no-deps --quiet

# 10,000 seeds of the crash-and-fault model tests, then processes killed again and again, with readers beside them.
crash:
	AMBO_SEEDS=$(SEEDS) $(CARGO) test --release -p ambo-engine --test it model -- --nocapture
	AMBO_BESIDE_SECONDS=$(TIME) $(CARGO) test --release -p ambo-engine --test it beside::processes
	$(CARGO) build --release -p ambo-tools
	target_dir=$$($(CARGO) metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/'); \
	dir=$$(mktemp -d); $$target_dir/release/ambo-tools crash-loop $$dir/db --rounds $(ROUNDS); status=$$?; rm -rf $$dir; exit $$status

# All suites against RocksDB, LMDB, redb, fjall and SQLite: hours. See bench/README.md.
bench:
	$(CARGO) run --release -p ambo-bench -- run $(BENCH)

# The suites of codecs, which need no other store: some minutes.
bench-codecs:
	bench/space/fetch.sh target/bench-data/inputs
	$(CARGO) run --release -p ambo-bench --no-default-features --features codecs -- run --suite codecs,space --runs 1 $(BENCH)
	$(CARGO) run --release -p ambo-bench --no-default-features --features codecs -- run --suite compressed-tables --records 1M --runs 1 $(BENCH)

# Column tables beside DuckDB and SQLite, which run in Python: about a quarter of an hour.
bench-columns:
	bench/columns/fetch.sh target/bench-data/inputs 1
	$(CARGO) run --release -p ambo-bench --no-default-features --features codecs -- run --suite columns --runs 1 $(BENCH)

# SQL beside SQLite, in the same process, and DuckDB, in Python: about ten minutes. DataFusion is compiled for it: twenty more, once.
bench-sql:
	bench/sql/fetch.sh target/bench-data/inputs 1
	$(CARGO) run --release -p ambo-bench --no-default-features --features sql -- run --suite sql --runs 1 $(BENCH)

# The Python package beside sqlite3, DuckDB, LMDB, LevelDB and RocksDB, which are installed into an environment of their own: some minutes.
BENCH_PYTHON_VENV := $(TARGET_DIR)/bench-python-venv
bench-python: $(BENCH_PYTHON_VENV)/made
	$(CARGO) build --release -p ambo-python
	$(BENCH_PYTHON_VENV)/bin/python bench/python/run.py --library $(TARGET_DIR)/release/lib_ambo.so $(BENCH)

$(BENCH_PYTHON_VENV)/made: bench/python/requirements.txt
	python3 -m venv --clear $(BENCH_PYTHON_VENV)
	$(BENCH_PYTHON_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	touch $@

# Random queries and statements whose answers have to be those of SQLite and of DuckDB, and conditions that have to be one wherever they stand, in
# DATABASES databases from SEED on. ORACLES are some of sqlite, duckdb, norec, tlp. The profile is that of the tests, whose libraries are there.
differential: $(DUCKDB_VENV)/made
	$(CARGO) test --workspace --exclude ambo-bench --no-run
	$(TARGET_DIR)/debug/ambo-differential $(ORACLES) --databases $(DATABASES) --steps $(STEPS) --seed $(SEED) --python $(DUCKDB_PYTHON) --dir $(TARGET_DIR)/differential

# The same with an optimised build, which is ready after a quarter of an hour and then some times as fast: for tens of thousands of databases.
differential-long: $(DUCKDB_VENV)/made
	$(CARGO) build --release -p ambo-differential
	$(TARGET_DIR)/release/ambo-differential $(ORACLES) --databases $(DATABASES) --steps $(STEPS) --seed $(SEED) --python $(DUCKDB_PYTHON) --dir $(TARGET_DIR)/differential

# DuckDB as a Python module, in an environment of its own.
$(DUCKDB_VENV)/made: crates/ambo-differential/requirements.txt
	python3 -m venv --clear $(DUCKDB_VENV)
	$(DUCKDB_PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	touch $@

# What the tests of the Python package need, in an environment of its own. dbapi-compliance is there as its source alone.
$(PACKAGE_VENV)/made: python/requirements.txt
	python3 -m venv --clear $(PACKAGE_VENV)
	$(PACKAGE_PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --no-binary dbapi-compliance -r $<
	touch $@

# A program in Go that loads the driver of ADBC. Its driver manager is in C++, which is compiled with it.
$(ADBC_GO): crates/ambo-capi/tests/go/main.go crates/ambo-capi/tests/go/go.mod crates/ambo-capi/tests/go/go.sum
	command -v go >/dev/null || { $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q --no-install-recommends golang-go; }
	cd crates/ambo-capi/tests/go && CGO_ENABLED=1 go build -mod=readonly -o $(abspath $@) .

# 10,000 openings and closings, 1,000 forks and 8 threads for a minute, from Python: some minutes.
endurance: $(PACKAGE_VENV)/made
	$(CARGO) test --workspace --exclude ambo-bench --test python --no-run
	place=$$(mktemp -d) && cp -r python/ambo $$place/ && ln -s $(TARGET_DIR)/debug/deps/lib_ambo.so $$place/ambo/_ambo.abi3.so && \
		PYTHONPATH=$$place $(PACKAGE_PYTHON) python/tests/endurance.py; status=$$?; rm -r $$place; exit $$status

# The clients that tests of the server start: psql and pgbench, which are installed where apt can, and a Python with clients.
server-clients: $(SERVER_VENV)/made $(SERVER_NODE)/made $(SERVER_JARS)/made $(SERVER_PGX)
	@command -v psql >/dev/null && command -v pgbench >/dev/null || { command -v apt-get >/dev/null && $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q postgresql; } || \
		{ echo "psql and pgbench are missing: apt-get install -y postgresql, or what your system has for it"; exit 1; }

$(SERVER_VENV)/made: crates/ambo-server/tests/requirements.txt
	python3 -m venv --clear $(SERVER_VENV)
	$(SERVER_PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	touch $@

$(SERVER_NODE)/made: crates/ambo-server/tests/clients/node/package.json crates/ambo-server/tests/clients/node/package-lock.json
	command -v npm >/dev/null || { $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q --no-install-recommends nodejs npm; }
	mkdir -p $(SERVER_NODE)
	cp $^ $(SERVER_NODE)/
	cd $(SERVER_NODE) && npm ci --no-audit --no-fund --ignore-scripts
	touch $@

$(SERVER_JARS)/made: crates/ambo-server/tests/clients/java/pom.xml
	command -v mvn >/dev/null || { $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q --no-install-recommends maven default-jdk-headless; }
	mvn -q -B -f $< org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory=$(abspath $(SERVER_JARS))
	touch $@

$(SERVER_PGX): crates/ambo-server/tests/clients/go/main.go crates/ambo-server/tests/clients/go/go.mod crates/ambo-server/tests/clients/go/go.sum
	command -v go >/dev/null || { $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q --no-install-recommends golang-go; }
	cd crates/ambo-server/tests/clients/go && go build -mod=readonly -o $(abspath $@) .

# What the test of the server's console needs: Chromium and node from the system's packages, playwright-core from npm.
SUDO := $(shell [ $$(id -u) = 0 ] || echo sudo)
$(CONSOLE_MODULES)/made: crates/ambo-server/tests/http/package.json crates/ambo-server/tests/http/package-lock.json
	command -v chromium >/dev/null || { $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q --no-install-recommends chromium; }
	command -v npm >/dev/null || { $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q --no-install-recommends nodejs npm; }
	mkdir -p $(CONSOLE_MODULES)
	cp $^ $(CONSOLE_MODULES)
	cd $(CONSOLE_MODULES) && npm ci --no-audit --no-fund --ignore-scripts
	touch $@

# The wheel of the Python package, optimised, in target/wheels: a quarter of an hour and more. On Linux it is for glibc 2.28 and later, by the
# compiler and linker of Zig, which are installed beside maturin into an environment of their own.
WHEEL_VENV := $(TARGET_DIR)/wheel-venv
WHEEL_FLAGS ?= $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux_2_28)
wheel: $(WHEEL_VENV)/made
	cd python && PATH="$(WHEEL_VENV)/bin:$$PATH" maturin build --profile wheel $(WHEEL_FLAGS) --out $(TARGET_DIR)/wheels
	@for wheel in $(TARGET_DIR)/wheels/*.whl; do size=$$(stat -c %s "$$wheel"); echo "$$wheel: $$size bytes"; \
		[ $$size -le 40000000 ] || { echo "more than 40 MB"; exit 1; }; done

# The package as its sources, in target/wheels. Who installs it needs Rust.
sdist: $(WHEEL_VENV)/made
	cd python && PATH="$(WHEEL_VENV)/bin:$$PATH" maturin sdist --out $(TARGET_DIR)/wheels

$(WHEEL_VENV)/made: python/wheel.txt
	python3 -m venv --clear $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	touch $@

# The header of the C library, made of its sources. The tests compare it.
header:
	AMBO_WRITE_HEADER=1 $(CARGO) test --workspace --exclude ambo-bench --test c -- header

# The C library: headers, shared and static library, pkg-config, to PREFIX (/usr/local). SQL=no installs libambo-kv, which has no SQL and is
# ready after some minutes; with SQL it is half an hour of processor time.
install-c:
	CARGO="$(CARGO)" PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" SQL="$(SQL)" crates/ambo-capi/install.sh

# The library for programs that were written for upscaledb, to PREFIX.
install-ups:
	CARGO="$(CARGO)" PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" crates/ambo-ups/install.sh

# How large the smallest program with Ambo is, and how long it takes to build.
weight:
	CARGO="$(CARGO)" bench/weight.sh

bench-quick:
	$(CARGO) run --release -p ambo-bench -- run --records 1000000 --runs 1

# All fuzz targets of all crates, TIME seconds each, from the corpus in the repository; what is found besides goes to
# target/fuzz-corpus. Needs cargo-fuzz. See CONTRIBUTING.md.
fuzz:
	@set -e; for manifest in crates/*/fuzz/Cargo.toml; do \
		cd $(CURDIR)/$${manifest%/fuzz/Cargo.toml}; \
		for fuzz_target in $$($(CARGO) fuzz list); do \
			echo "== $$fuzz_target, $(TIME) s"; \
			found=$(CURDIR)/target/fuzz-corpus/$$fuzz_target; \
			mkdir -p $$found fuzz/corpus/$$fuzz_target; \
			$(CARGO) fuzz run -s none $$fuzz_target $$found fuzz/corpus/$$fuzz_target -- \
				-max_total_time=$(TIME) -timeout=20 -max_len=2048 -verbosity=0 -print_final_stats=1; \
		done; \
	done

doc:
	$(CARGO) doc --workspace --exclude ambo-bench --no-deps --open

# The book of docs/book as HTML, in target/book. Its examples run with `make test`.
MDBOOK ?= mdbook
book:
	@command -v $(MDBOOK) >/dev/null || { echo "mdBook is missing: cargo install mdbook --locked"; exit 1; }
	$(MDBOOK) build docs/book --dest-dir $(CURDIR)/target/book

install:
	$(CARGO) install --path crates/ambo-cli
