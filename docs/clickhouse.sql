-- Tables for the profiles of many jobs, for ClickHouse 22.8 or later. A user who may create them runs this once:
--	clickhouse-client --multiquery < clickhouse.sql
-- Who exports needs SELECT and INSERT on flamegrid.*, and nothing else.
CREATE DATABASE IF NOT EXISTS flamegrid;

-- What was done where, as differences: the sum over time is exact. A difference may be negative, when work got another
-- name. A batch of rows has one time, so it is one block in one partition: all of it is there, or nothing.
--   source    random name of the profile; batch: number of the export of this profile
--   time      the last word of the job that the batch knows of
--   rank, gpu -1: not known, or work of no GPU
--   plane     gpu, sync, overhead, um, modules, cpu, offcpu, calls, idle, stalls: times of two planes must never be added
--   kind      kernel, nccl_wait (of NCCL's kernels, for other ranks), memcpy, memset, graph, sync, idle …
--   stack     of the table stacks; 0: none
CREATE TABLE IF NOT EXISTS flamegrid.work (
	source LowCardinality(String),
	batch UInt64 CODEC(Delta, ZSTD),
	time DateTime('UTC') CODEC(Delta, ZSTD),
	job LowCardinality(String),
	user LowCardinality(String),
	host LowCardinality(String),
	rank Int32 CODEC(ZSTD),
	gpu Int32 CODEC(ZSTD),
	gpu_uuid LowCardinality(String),
	model LowCardinality(String),
	driver LowCardinality(String),
	plane LowCardinality(String),
	kind LowCardinality(String),
	name LowCardinality(String),
	stack UInt64 CODEC(ZSTD),
	count Int64 CODEC(ZSTD),
	ns Int64 CODEC(ZSTD),
	bytes Int64 CODEC(ZSTD),
	INDEX by_job job TYPE bloom_filter GRANULARITY 1,
	-- Sums by the day or hour. They are parts of the table's own parts, so they are never ahead of it or behind. Each is in
	-- the order of its columns: a question about one kernel or job reads little more than its rows.
	PROJECTION names (
		SELECT plane, kind, name, toDate(time), model, driver, sum(count), sum(ns), sum(bytes)
		GROUP BY plane, kind, name, toDate(time), model, driver),
	PROJECTION jobs (
		SELECT toStartOfHour(time), plane, kind, job, user, sum(count), sum(ns), sum(bytes)
		GROUP BY toStartOfHour(time), plane, kind, job, user),
	PROJECTION gpus (
		SELECT plane, kind, toDate(time), host, gpu, gpu_uuid, model, driver, sum(count), sum(ns), sum(bytes)
		GROUP BY plane, kind, toDate(time), host, gpu, gpu_uuid, model, driver),
	PROJECTION paths (
		SELECT job, plane, stack, toDate(time), sum(count), sum(ns), sum(bytes)
		GROUP BY job, plane, stack, toDate(time))
) ENGINE = MergeTree
PARTITION BY toDate(time)
ORDER BY (source, batch, plane, name, stack)
SETTINGS non_replicated_deduplication_window = 10000;

-- The frames of stacks, the outermost first. Equal rows may stand several times until parts are merged: ask with FINAL
-- or LIMIT 1.
CREATE TABLE IF NOT EXISTS flamegrid.stacks (
	stack UInt64 CODEC(ZSTD),
	frames Array(String) CODEC(ZSTD)
) ENGINE = ReplacingMergeTree
ORDER BY stack;

-- What is missing from profiles (lost 1), and other states worth a line, as differences, too. Of an incomplete profile
-- one row says so, whose count is 1, because the amount is unknown.
CREATE TABLE IF NOT EXISTS flamegrid.losses (
	source LowCardinality(String),
	batch UInt64 CODEC(Delta, ZSTD),
	time DateTime('UTC') CODEC(Delta, ZSTD),
	job LowCardinality(String),
	user LowCardinality(String),
	reason LowCardinality(String),
	lost UInt8,
	count Int64 CODEC(ZSTD),
	ns Int64 CODEC(ZSTD),
	PROJECTION reasons (
		SELECT lost, toDate(time), job, user, reason, sum(count), sum(ns)
		GROUP BY lost, toDate(time), job, user, reason)
) ENGINE = MergeTree
PARTITION BY toYYYYMM(time)
ORDER BY (source, batch, reason)
SETTINGS non_replicated_deduplication_window = 10000;

-- All writers of a source, by their random names: a merged profile has those of its inputs, so none is counted twice. A
-- source with the writer `withdrawn` claims none: another export of its profile began at the same time.
-- Equal rows may stand several times until parts are merged.
CREATE TABLE IF NOT EXISTS flamegrid.writers (
	source LowCardinality(String),
	writer LowCardinality(String)
) ENGINE = ReplacingMergeTree
ORDER BY (writer, source);

CREATE TABLE IF NOT EXISTS flamegrid.schema_version (version UInt32) ENGINE = ReplacingMergeTree ORDER BY version;
INSERT INTO flamegrid.schema_version VALUES (1);
