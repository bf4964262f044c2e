#include "store_schema.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"

#define STRING_OF(x) #x
#define TEXT_OF(x)   STRING_OF(x)

/* STRICT reports a value of the wrong type when it is written, and not when it is read. A row of
 * a table without row ids that is longer than a quarter of a page takes another page of its own, and goes into the
 * middle of the table. So tables of large blobs have row ids. */
static const char schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;"
	"CREATE TABLE strings (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;"
	"CREATE TABLE modules (id INTEGER PRIMARY KEY, path INTEGER NOT NULL, flags INTEGER NOT "
	"NULL,"
	" owner INTEGER NOT NULL, build_id BLOB NOT NULL) STRICT;"
	"CREATE TABLE codes (id INTEGER PRIMARY KEY, file INTEGER NOT NULL,"
	" name INTEGER NOT NULL) STRICT;"
	"CREATE TABLE frames (id INTEGER PRIMARY KEY, module INTEGER NOT NULL, offset INTEGER NOT "
	"NULL,"
	" scope INTEGER NOT NULL, code INTEGER NOT NULL, name INTEGER) STRICT;"
	"CREATE TABLE nodes (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL,"
	" frame INTEGER NOT NULL) STRICT;"
	"CREATE TABLE hosts (id INTEGER PRIMARY KEY, boot_id INTEGER NOT NULL,"
	" node INTEGER NOT NULL) STRICT;"
	"CREATE TABLE devices (id INTEGER PRIMARY KEY, host INTEGER NOT NULL, device_index INTEGER,"
	" uuid BLOB NOT NULL, name INTEGER NOT NULL, pci INTEGER NOT NULL) STRICT;"
	"CREATE TABLE processes (id INTEGER PRIMARY KEY, host INTEGER NOT NULL, pid INTEGER NOT "
	"NULL,"
	" pid_namespace INTEGER NOT NULL, start_ticks INTEGER NOT NULL, instance BLOB NOT NULL,"
	" state INTEGER NOT NULL, rank INTEGER, local_rank INTEGER, world_size INTEGER,"
	" job INTEGER NOT NULL, command INTEGER NOT NULL, launches INTEGER NOT NULL,"
	" failed INTEGER NOT NULL, expired INTEGER NOT NULL, records INTEGER NOT NULL,"
	" matched INTEGER NOT NULL, unmatched INTEGER NOT NULL, invalid INTEGER NOT NULL,"
	" launch_order INTEGER NOT NULL, retire_order INTEGER NOT NULL,"
	" waiting_order INTEGER NOT NULL, spoke_ns INTEGER NOT NULL,"
	" writer INTEGER NOT NULL) STRICT;"
	"CREATE TABLE process_devices (process INTEGER NOT NULL, device_id INTEGER NOT NULL,"
	" device INTEGER NOT NULL, PRIMARY KEY (process, device_id)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE process_notices (process INTEGER NOT NULL, position INTEGER NOT NULL,"
	" text INTEGER NOT NULL, PRIMARY KEY (process, position)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE epochs (id INTEGER PRIMARY KEY, epoch BLOB NOT NULL UNIQUE, host INTEGER NOT "
	"NULL,"
	" software INTEGER NOT NULL, durable_seq INTEGER NOT NULL, state INTEGER NOT NULL,"
	" spoke_ns INTEGER NOT NULL, writer INTEGER NOT NULL) STRICT;"
	"CREATE TABLE writers (id INTEGER PRIMARY KEY, writer BLOB NOT NULL UNIQUE,"
	" closed INTEGER NOT NULL, nodes INTEGER NOT NULL) STRICT;"
	"CREATE TABLE epoch_ids (epoch INTEGER NOT NULL, kind INTEGER NOT NULL, base INTEGER NOT "
	"NULL,"
	" count INTEGER NOT NULL, ids BLOB NOT NULL,"
	" PRIMARY KEY (epoch, kind, base)) STRICT;"
	"CREATE TABLE totals (process INTEGER NOT NULL, device_id INTEGER NOT NULL,"
	" context_id INTEGER NOT NULL, stream_id INTEGER NOT NULL, tid INTEGER NOT NULL,"
	" node INTEGER NOT NULL, capture_stack INTEGER NOT NULL, name INTEGER NOT NULL,"
	" kind INTEGER NOT NULL, copy_kind INTEGER NOT NULL, matched INTEGER NOT NULL,"
	" count INTEGER NOT NULL, ns INTEGER NOT NULL, bytes INTEGER NOT NULL, durations BLOB,"
	" PRIMARY KEY (process, device_id, context_id, stream_id, tid, node, capture_stack, name,"
	" kind, copy_kind, matched)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE ledger (epoch INTEGER NOT NULL, process INTEGER NOT NULL,"
	" device_id INTEGER NOT NULL, reason INTEGER NOT NULL, count INTEGER NOT NULL,"
	" ns INTEGER NOT NULL, PRIMARY KEY (epoch, process, device_id, reason)) STRICT, WITHOUT "
	"ROWID;"
	"CREATE TABLE timelines (level INTEGER NOT NULL, process INTEGER NOT NULL,"
	" device_id INTEGER NOT NULL, context_id INTEGER NOT NULL, stream_id INTEGER NOT NULL,"
	" records INTEGER NOT NULL, sum_ns INTEGER NOT NULL, busy_ns INTEGER NOT NULL,"
	" closed_ns INTEGER NOT NULL, horizon_ns INTEGER NOT NULL, first_ns INTEGER NOT NULL,"
	" last_ns INTEGER NOT NULL, late INTEGER NOT NULL, late_ns INTEGER NOT NULL,"
	" close_at INTEGER NOT NULL, nr_open INTEGER NOT NULL, uncaptured_ns INTEGER NOT NULL,"
	" PRIMARY KEY (level, process, device_id, context_id, stream_id)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE timeline_blocks (level INTEGER NOT NULL, process INTEGER NOT NULL,"
	" device_id INTEGER NOT NULL, context_id INTEGER NOT NULL, stream_id INTEGER NOT NULL,"
	" block INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL,"
	" PRIMARY KEY (block, level, process, device_id, context_id, stream_id)) STRICT;"
	"CREATE TABLE pending (process INTEGER NOT NULL, kind INTEGER NOT NULL, block INTEGER NOT "
	"NULL,"
	" count INTEGER NOT NULL, data BLOB NOT NULL,"
	" PRIMARY KEY (process, kind, block)) STRICT;"
	"CREATE TABLE device_limits (device INTEGER PRIMARY KEY, compute_major INTEGER NOT NULL,"
	" compute_minor INTEGER NOT NULL, multiprocessors INTEGER NOT NULL,"
	" warp_size INTEGER NOT NULL, sm_threads INTEGER NOT NULL, sm_blocks INTEGER NOT NULL,"
	" sm_registers INTEGER NOT NULL, sm_shared_bytes INTEGER NOT NULL,"
	" block_threads INTEGER NOT NULL, block_registers INTEGER NOT NULL,"
	" block_shared_bytes INTEGER NOT NULL, block_shared_optin_bytes INTEGER NOT NULL,"
	" block_reserved_bytes INTEGER NOT NULL) STRICT;"
	"CREATE TABLE api_calls (process INTEGER NOT NULL, domain INTEGER NOT NULL,"
	" cbid INTEGER NOT NULL, error INTEGER NOT NULL, name INTEGER NOT NULL,"
	" count INTEGER NOT NULL, total_ns INTEGER NOT NULL, min_ns INTEGER NOT NULL,"
	" max_ns INTEGER NOT NULL, errors INTEGER NOT NULL,"
	" PRIMARY KEY (process, domain, cbid, error)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE kernel_configs (process INTEGER NOT NULL, device_id INTEGER NOT NULL,"
	" name INTEGER NOT NULL, grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL,"
	" grid_z INTEGER NOT NULL, block_x INTEGER NOT NULL, block_y INTEGER NOT NULL,"
	" block_z INTEGER NOT NULL, static_shared_bytes INTEGER NOT NULL,"
	" dynamic_shared_bytes INTEGER NOT NULL, registers INTEGER NOT NULL,"
	" local_bytes INTEGER NOT NULL, count INTEGER NOT NULL, total_ns INTEGER NOT NULL,"
	" min_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL,"
	" PRIMARY KEY (process, device_id, name, grid_x, grid_y, grid_z, block_x, block_y,"
	" block_z, static_shared_bytes, dynamic_shared_bytes, registers, local_bytes)) STRICT,"
	" WITHOUT ROWID;"
	"CREATE TABLE kernel_metrics (process INTEGER NOT NULL, device_id INTEGER NOT NULL,"
	" node INTEGER NOT NULL, name INTEGER NOT NULL, metric INTEGER NOT NULL,"
	" passes INTEGER NOT NULL, count INTEGER NOT NULL, total_ns INTEGER NOT NULL,"
	" sum INTEGER NOT NULL, min INTEGER NOT NULL, max INTEGER NOT NULL,"
	" PRIMARY KEY (process, device_id, node, name, metric)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE memory (process INTEGER NOT NULL, device_id INTEGER NOT NULL,"
	" space INTEGER NOT NULL, allocs INTEGER NOT NULL, alloc_bytes INTEGER NOT NULL,"
	" frees INTEGER NOT NULL, free_bytes INTEGER NOT NULL, live_count INTEGER NOT NULL,"
	" live_bytes INTEGER NOT NULL, peak_bytes INTEGER NOT NULL, peak_ns INTEGER NOT NULL,"
	" first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, unknown_frees INTEGER NOT NULL,"
	" unknown_bytes INTEGER NOT NULL, duplicates INTEGER NOT NULL, replaced INTEGER NOT NULL,"
	" untracked INTEGER NOT NULL, late INTEGER NOT NULL,"
	" PRIMARY KEY (process, device_id, space)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE memory_stacks (process INTEGER NOT NULL, device_id INTEGER NOT NULL,"
	" tid INTEGER NOT NULL, node INTEGER NOT NULL, kind INTEGER NOT NULL,"
	" matched INTEGER NOT NULL, live_count INTEGER NOT NULL, live_bytes INTEGER NOT NULL,"
	" peak_count INTEGER NOT NULL, peak_bytes INTEGER NOT NULL,"
	" PRIMARY KEY (process, device_id, tid, node, kind, matched)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE streams (process INTEGER NOT NULL, context_id INTEGER NOT NULL,"
	" stream_id INTEGER NOT NULL, name INTEGER NOT NULL, priority INTEGER, flags INTEGER NOT "
	"NULL,"
	" PRIMARY KEY (process, context_id, stream_id)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE contexts (process INTEGER NOT NULL, context_id INTEGER NOT NULL,"
	" parent_id INTEGER NOT NULL, device_id INTEGER NOT NULL, multiprocessors INTEGER NOT NULL,"
	" flags INTEGER NOT NULL, PRIMARY KEY (process, context_id)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE host_samples (process INTEGER NOT NULL, tid INTEGER NOT NULL,"
	" kind INTEGER NOT NULL, node INTEGER NOT NULL, name INTEGER NOT NULL,"
	" count INTEGER NOT NULL, ns INTEGER NOT NULL,"
	" PRIMARY KEY (process, tid, kind, node, name)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE sample_blocks (process INTEGER NOT NULL, sort INTEGER NOT NULL,"
	" block INTEGER NOT NULL, level INTEGER NOT NULL, count INTEGER NOT NULL,"
	" data BLOB NOT NULL, PRIMARY KEY (process, sort, block)) STRICT;"
	"CREATE TABLE sample_levels (process INTEGER NOT NULL, sort INTEGER NOT NULL,"
	" level INTEGER NOT NULL, PRIMARY KEY (process, sort)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE idle_devices (device INTEGER NOT NULL, writer INTEGER NOT NULL,"
	" from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,"
	" PRIMARY KEY (device, writer)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE idle_blocks (device INTEGER NOT NULL, writer INTEGER NOT NULL,"
	" block INTEGER NOT NULL, records INTEGER NOT NULL, count INTEGER NOT NULL,"
	" data BLOB NOT NULL, PRIMARY KEY (device, writer, block)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE raw_samples (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"
	" time_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, kind INTEGER NOT NULL,"
	" node INTEGER NOT NULL, name INTEGER NOT NULL, tid INTEGER NOT NULL,"
	" cpu INTEGER NOT NULL, command INTEGER NOT NULL) STRICT;"
	"CREATE TABLE host_clocks (host INTEGER PRIMARY KEY,"
	" realtime_offset_ns INTEGER NOT NULL) STRICT;"
	"CREATE TABLE communicators (process INTEGER NOT NULL, communicator INTEGER NOT NULL,"
	" key INTEGER NOT NULL, parent_key INTEGER NOT NULL, rank INTEGER, nr_ranks INTEGER,"
	" color INTEGER NOT NULL, split INTEGER NOT NULL, origin INTEGER NOT NULL,"
	" PRIMARY KEY (process, communicator)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE collectives (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"
	" communicator INTEGER NOT NULL, tid INTEGER NOT NULL, node INTEGER NOT NULL,"
	" function INTEGER NOT NULL, data_type INTEGER NOT NULL, reduce_op INTEGER NOT NULL,"
	" sequence INTEGER NOT NULL, function_sequence INTEGER NOT NULL, count INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL, peer INTEGER, call_group INTEGER NOT NULL,"
	" stream INTEGER NOT NULL, result INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
	" duration_ns INTEGER NOT NULL, correlation_id INTEGER NOT NULL,"
	" gpu_start_ns INTEGER, gpu_ns INTEGER, device_id INTEGER,"
	" gpu_clock_offset_ns INTEGER, folded INTEGER NOT NULL,"
	" waited_ns INTEGER NOT NULL, gpu_context INTEGER, gpu_stream INTEGER, gpu_tid INTEGER,"
	" gpu_node INTEGER, gpu_name INTEGER) STRICT;"
	"CREATE INDEX collectives_waiting ON collectives (process, correlation_id)"
	" WHERE gpu_ns IS NULL AND correlation_id != 0;"
	"CREATE TABLE collective_kernels (process INTEGER NOT NULL,"
	" correlation_id INTEGER NOT NULL, position INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
	" ns INTEGER NOT NULL, device_id INTEGER NOT NULL, clock_offset_ns INTEGER,"
	" asked INTEGER NOT NULL, context INTEGER, stream INTEGER NOT NULL,"
	" kernel_tid INTEGER NOT NULL, kernel_node INTEGER NOT NULL, name INTEGER NOT NULL,"
	" PRIMARY KEY (process, correlation_id)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE collective_joins (process INTEGER PRIMARY KEY, kernels INTEGER NOT NULL,"
	" dropped INTEGER NOT NULL) STRICT;"
	"CREATE TABLE collective_folds (writer INTEGER NOT NULL, key INTEGER NOT NULL,"
	" shift INTEGER NOT NULL, spread INTEGER NOT NULL, collectives INTEGER NOT NULL,"
	" complete INTEGER NOT NULL, compared INTEGER NOT NULL, by_gpu INTEGER NOT NULL,"
	" joint INTEGER NOT NULL, grouped INTEGER NOT NULL, others INTEGER NOT NULL,"
	" duplicates INTEGER NOT NULL, unmatched INTEGER NOT NULL, launch_start_ns INTEGER,"
	" launch_correlation_id INTEGER NOT NULL, all_reduce_to INTEGER NOT NULL,"
	" all_gather_to INTEGER NOT NULL, reduce_scatter_to INTEGER NOT NULL,"
	" all_to_all_to INTEGER NOT NULL, PRIMARY KEY (writer, key)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE collective_members (process INTEGER NOT NULL,"
	" communicator INTEGER NOT NULL, missing INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
	" end_ns INTEGER NOT NULL, gpu_start_ns INTEGER NOT NULL, gpu_end_ns INTEGER NOT NULL,"
	" buckets BLOB NOT NULL, PRIMARY KEY (process, communicator)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE collective_sums (process INTEGER NOT NULL,"
	" communicator INTEGER NOT NULL, tid INTEGER NOT NULL, function INTEGER NOT NULL,"
	" size_class INTEGER NOT NULL, calls INTEGER NOT NULL, numbered INTEGER NOT NULL,"
	" failed INTEGER NOT NULL, bytes INTEGER NOT NULL, total_ns INTEGER NOT NULL,"
	" max_ns INTEGER NOT NULL, first_sequence INTEGER NOT NULL,"
	" last_sequence INTEGER NOT NULL, gpu_calls INTEGER NOT NULL, gpu_ns INTEGER NOT NULL,"
	" unjoined INTEGER NOT NULL, compared INTEGER NOT NULL, last INTEGER NOT NULL,"
	" waited_ns INTEGER NOT NULL, others_ns INTEGER NOT NULL, bins INTEGER NOT NULL,"
	" behind BLOB NOT NULL, PRIMARY KEY (process, communicator, tid, function, size_class))"
	" STRICT, WITHOUT ROWID;"
	"CREATE TABLE collective_splits (process INTEGER NOT NULL, device_id INTEGER NOT NULL,"
	" context_id INTEGER NOT NULL, stream_id INTEGER NOT NULL, tid INTEGER NOT NULL,"
	" node INTEGER NOT NULL, name INTEGER NOT NULL, part INTEGER NOT NULL,"
	" waited_for INTEGER NOT NULL, waited_for_device INTEGER NOT NULL,"
	" count INTEGER NOT NULL, ns INTEGER NOT NULL, bytes INTEGER NOT NULL,"
	" PRIMARY KEY (process, device_id, context_id, stream_id, tid, node, name, part,"
	" waited_for, waited_for_device)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE launch_delays (process INTEGER NOT NULL, device_id INTEGER NOT NULL,"
	" count INTEGER NOT NULL, sum_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL,"
	" unclear INTEGER NOT NULL, PRIMARY KEY (process, device_id)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE clock_offsets (host INTEGER NOT NULL, reference INTEGER NOT NULL,"
	" time_ns INTEGER NOT NULL, offset_ns INTEGER NOT NULL, bound_ns INTEGER NOT NULL,"
	" round_trip_ns INTEGER NOT NULL, realtime_offset_ns INTEGER NOT NULL,"
	" reference_realtime_offset_ns INTEGER NOT NULL,"
	" PRIMARY KEY (host, reference, time_ns)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE device_topology (device INTEGER PRIMARY KEY, numa_node INTEGER,"
	" cpus INTEGER NOT NULL) STRICT;"
	"CREATE TABLE device_links (device INTEGER PRIMARY KEY, link INTEGER NOT NULL,"
	" bytes_per_second INTEGER NOT NULL) STRICT;"
	"CREATE TABLE device_telemetry (device INTEGER NOT NULL, "
	"begin_ns INTEGER NOT NULL, refusal INTEGER NOT NULL, "
	"last_ns INTEGER NOT NULL, readings INTEGER NOT NULL, "
	"observed_ns INTEGER NOT NULL, clock_ns INTEGER NOT NULL, "
	"sm_cycles INTEGER NOT NULL, memory_cycles INTEGER NOT NULL, "
	"sm_min_mhz INTEGER NOT NULL, sm_max_mhz INTEGER NOT NULL, "
	"idle_ns INTEGER NOT NULL, hw_thermal_ns INTEGER NOT NULL, "
	"hw_power_brake_ns INTEGER NOT NULL, hw_slowdown_ns INTEGER NOT NULL, "
	"sw_thermal_ns INTEGER NOT NULL, sw_power_cap_ns INTEGER NOT NULL, "
	"sync_boost_ns INTEGER NOT NULL, set_clocks_ns INTEGER NOT NULL, "
	"other_ns INTEGER NOT NULL, free_ns INTEGER NOT NULL, "
	"power_ns INTEGER NOT NULL, power_nj INTEGER NOT NULL, "
	"energy_ns INTEGER NOT NULL, energy_mj INTEGER NOT NULL, "
	"max_celsius INTEGER NOT NULL, ecc_ns INTEGER NOT NULL, "
	"ecc_corrected INTEGER NOT NULL, ecc_uncorrected INTEGER NOT NULL, "
	"gpm_refusal INTEGER NOT NULL, computing_known_ns INTEGER NOT NULL, "
	"computing_ns INTEGER NOT NULL, sm_known_ns INTEGER NOT NULL, "
	"sm_ns INTEGER NOT NULL, occupancy_known_ns INTEGER NOT NULL, "
	"occupancy_ns INTEGER NOT NULL, tensor_known_ns INTEGER NOT NULL, "
	"tensor_ns INTEGER NOT NULL, dram_known_ns INTEGER NOT NULL, "
	"dram_ns INTEGER NOT NULL, pcie_sent_known_ns INTEGER NOT NULL, "
	"pcie_sent_bytes INTEGER NOT NULL, "
	"pcie_received_known_ns INTEGER NOT NULL, "
	"pcie_received_bytes INTEGER NOT NULL, "
	"nvlink_sent_known_ns INTEGER NOT NULL, "
	"nvlink_sent_bytes INTEGER NOT NULL, "
	"nvlink_received_known_ns INTEGER NOT NULL, "
	"nvlink_received_bytes INTEGER NOT NULL, "
	"dram_bytes_known_ns INTEGER NOT NULL, dram_bytes INTEGER NOT NULL, "
	"PRIMARY KEY (device, begin_ns)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE counter_states (device INTEGER NOT NULL, begin_ns INTEGER NOT NULL,"
	" refusal INTEGER NOT NULL, last_ns INTEGER NOT NULL, interval_ns INTEGER NOT NULL,"
	" samples INTEGER NOT NULL, kept INTEGER NOT NULL, unsent INTEGER NOT NULL,"
	" dropped INTEGER NOT NULL, overflows INTEGER NOT NULL, asked_ns INTEGER NOT NULL,"
	" covered_ns INTEGER NOT NULL, invalid INTEGER NOT NULL,"
	" PRIMARY KEY (device, begin_ns)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE counter_samples (device INTEGER NOT NULL, begin_ns INTEGER NOT NULL,"
	" end_ns INTEGER NOT NULL, known INTEGER NOT NULL, sm INTEGER NOT NULL,"
	" occupancy INTEGER NOT NULL, tensor INTEGER NOT NULL, dram INTEGER NOT NULL,"
	" dram_bytes INTEGER NOT NULL, nvlink_bytes INTEGER NOT NULL,"
	" pcie_bytes INTEGER NOT NULL, PRIMARY KEY (device, begin_ns)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE launch_cpus (process INTEGER NOT NULL, tid INTEGER NOT NULL,"
	" numa_node INTEGER NOT NULL, count INTEGER NOT NULL,"
	" PRIMARY KEY (process, tid, numa_node)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE total_blocks (process INTEGER NOT NULL, kind INTEGER NOT NULL,"
	" block INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL,"
	" PRIMARY KEY (process, kind, block)) STRICT;"
	"CREATE TABLE messages (id INTEGER PRIMARY KEY, raw INTEGER NOT NULL,"
	" data BLOB NOT NULL) STRICT;"
	"INSERT INTO meta VALUES ('created_by', 'flamegrid " FLAMEGRID_VERSION "');"
	"INSERT INTO writers VALUES (1, randomblob(16), 0, 0);"
	"PRAGMA application_id = " TEXT_OF(
		STORE_APPLICATION_ID) ";"
				      "PRAGMA user_version = " TEXT_OF(
					      STORE_SCHEMA_VERSION) ";"
								    "COMMIT;";

/* Each shows the tables that a version changed as the next version has them. */
static const char *const views[] = {
	/* 8: no kernel's total was known */
	"CREATE TEMP VIEW collectives AS SELECT *, NULL AS gpu_context, NULL AS gpu_stream,"
	" NULL AS gpu_tid, NULL AS gpu_node, NULL AS gpu_name FROM main.collectives;"
	"CREATE TEMP VIEW collective_kernels AS SELECT *, NULL AS context, 0 AS stream,"
	" 0 AS kernel_tid, 0 AS kernel_node, 0 AS name FROM main.collective_kernels;"
	"CREATE TEMP VIEW collective_splits AS SELECT 1 WHERE 0;",
	/* 9: no link was known */
	"CREATE TEMP VIEW device_links AS SELECT NULL AS device, NULL AS link,"
	" NULL AS bytes_per_second WHERE false;",
	/* 10: all samples were kept, up to a number, and no GPU work */
	"CREATE TEMP VIEW sample_blocks AS SELECT process, 0 AS sort, block, 0 AS level, count,"
	" data FROM main.sample_blocks;"
	"CREATE TEMP VIEW sample_levels AS SELECT NULL AS process, NULL AS sort, NULL AS level"
	" WHERE false;",
	/* 11: no histogram of durations was known */
	"CREATE TEMP VIEW totals AS SELECT *, NULL AS durations FROM main.totals;",
	/* 12: nothing of GPUs over time was known. The columns are those of 15. */
	"CREATE TEMP VIEW device_telemetry AS SELECT NULL AS device, "
	"NULL AS begin_ns, NULL AS refusal, NULL AS last_ns, NULL AS readings, "
	"NULL AS observed_ns, NULL AS clock_ns, NULL AS sm_cycles, "
	"NULL AS memory_cycles, NULL AS sm_min_mhz, NULL AS sm_max_mhz, "
	"NULL AS idle_ns, NULL AS hw_thermal_ns, NULL AS hw_power_brake_ns, "
	"NULL AS hw_slowdown_ns, NULL AS sw_thermal_ns, NULL AS sw_power_cap_ns, "
	"NULL AS sync_boost_ns, NULL AS set_clocks_ns, NULL AS other_ns, "
	"NULL AS free_ns, NULL AS power_ns, NULL AS power_nj, NULL AS energy_ns, "
	"NULL AS energy_mj, NULL AS max_celsius, NULL AS ecc_ns, "
	"NULL AS ecc_corrected, NULL AS ecc_uncorrected, "
	"NULL AS gpm_refusal, NULL AS computing_known_ns, NULL AS computing_ns, "
	"NULL AS sm_known_ns, NULL AS sm_ns, NULL AS occupancy_known_ns, "
	"NULL AS occupancy_ns, NULL AS tensor_known_ns, NULL AS tensor_ns, "
	"NULL AS dram_known_ns, NULL AS dram_ns, NULL AS pcie_sent_known_ns, "
	"NULL AS pcie_sent_bytes, NULL AS pcie_received_known_ns, "
	"NULL AS pcie_received_bytes, NULL AS nvlink_sent_known_ns, "
	"NULL AS nvlink_sent_bytes, NULL AS nvlink_received_known_ns, "
	"NULL AS nvlink_received_bytes, NULL AS dram_bytes_known_ns, "
	"NULL AS dram_bytes WHERE false;",
	/* 13: nothing of GPM was known. The view of 12 is here already. */
	"CREATE TEMP VIEW IF NOT EXISTS device_telemetry AS SELECT *, "
	"0 AS gpm_refusal, 0 AS computing_known_ns, 0 AS computing_ns, "
	"0 AS sm_known_ns, 0 AS sm_ns, 0 AS occupancy_known_ns, "
	"0 AS occupancy_ns, 0 AS tensor_known_ns, 0 AS tensor_ns, "
	"0 AS dram_known_ns, 0 AS dram_ns, 0 AS pcie_sent_known_ns, "
	"0 AS pcie_sent_bytes, 0 AS pcie_received_known_ns, "
	"0 AS pcie_received_bytes, 0 AS nvlink_sent_known_ns, "
	"0 AS nvlink_sent_bytes, 0 AS nvlink_received_known_ns, "
	"0 AS nvlink_received_bytes, 0 AS dram_bytes_known_ns, 0 AS dram_bytes "
	"FROM main.device_telemetry;",
	/* 14: no bytes of memory were counted, no kernel was measured, and none was sampled in exact windows. The
	 * view of 12 or 13 may be here already. */
	"CREATE TEMP VIEW IF NOT EXISTS device_telemetry AS SELECT *, "
	"0 AS dram_bytes_known_ns, 0 AS dram_bytes FROM main.device_telemetry;"
	"CREATE TEMP VIEW kernel_metrics AS SELECT 1 WHERE 0;",
	/* 15: no counters were sampled */
	"CREATE TEMP VIEW counter_states AS SELECT NULL AS device, NULL AS begin_ns,"
	" NULL AS refusal, NULL AS last_ns, NULL AS interval_ns, NULL AS samples, NULL AS kept,"
	" NULL AS unsent, NULL AS dropped, NULL AS overflows, NULL AS asked_ns,"
	" NULL AS covered_ns, NULL AS invalid WHERE false;"
	"CREATE TEMP VIEW counter_samples AS SELECT NULL AS device, NULL AS begin_ns,"
	" NULL AS end_ns, NULL AS known, NULL AS sm, NULL AS occupancy, NULL AS tensor,"
	" NULL AS dram, NULL AS dram_bytes, NULL AS nvlink_bytes, NULL AS pcie_bytes WHERE false;",
	/* 16: idle time of parts had that between capture windows */
	"CREATE TEMP VIEW timelines AS SELECT *, 0 AS uncaptured_ns FROM main.timelines;",
	/* 17: it was not told how long counters were sampled. The view of 15 may be here already. */
	"CREATE TEMP VIEW IF NOT EXISTS counter_states AS SELECT *, 0 AS asked_ns,"
	" 0 AS covered_ns, 0 AS invalid FROM main.counter_states;",
};

static_assert(sizeof(views) / sizeof(*views) == STORE_SCHEMA_VERSION - STORE_SCHEMA_OLDEST,
	      "a step for each version");

static int refuse(char **error, const char *path, const char *what, const char *detail)
{
	return error_text_set(error, -EPROTO, "%s: %s%s%s", path, what, *detail ? ": " : "",
			      detail);
}

static int refuse_version(char **error, const char *path, int64_t version)
{
	char what[160];

	snprintf(what, sizeof(what),
		 "its schema is version %lld, this program knows version %d: %s",
		 (long long)version, STORE_SCHEMA_VERSION,
		 version > STORE_SCHEMA_VERSION ? "a newer flamegrid wrote it"
		 : version < STORE_SCHEMA_OLDEST
			 ? "make the report with the flamegrid that recorded it, or record anew"
			 : "it can be read, but not continued");
	return refuse(error, path, what, "");
}

static int fail(char **error, const char *path, int status, struct database *database)
{
	refuse(error, path, "cannot be read",
	       status == -ENOMEM ? "out of memory" : database_error_of(database, status));
	return status;
}

/* Readers find for themselves what is wrong in the largest table, by its sums (store_busy.h). Those of names read none
 * of the tables of blocks. */
static const char check_all[] = "PRAGMA quick_check(1)";
static const char check_sums[] =
	"SELECT quick_check FROM sqlite_master, pragma_quick_check(name) WHERE type = 'table' AND"
	" name <> 'timeline_blocks' ORDER BY quick_check = 'ok' LIMIT 1";
static const char check_names[] =
	"SELECT quick_check FROM sqlite_master, pragma_quick_check(name) WHERE type = 'table' AND"
	" name NOT IN ('timeline_blocks', 'sample_blocks', 'idle_blocks', 'total_blocks')"
	" ORDER BY quick_check = 'ok' LIMIT 1";

static int check_pages(struct database *database, const char *path, const char *sql, char **error)
{
	char result[256];
	int status = database_query_text(database, database_checks_tables() ? sql : check_all,
					 result, sizeof(result));

	if (status && status != -EPROTO)
		return fail(error, path, status, database);
	if (status || strcmp(result, "ok") != 0)
		return refuse(error, path, "damaged", status ? database_error(database) : result);
	return 0;
}

/* Reads all at one moment, because a writer may just make the tables. */
static int read_kind(struct database *database, int64_t *application_id, int64_t *version,
		     int64_t *tables)
{
	int status = database_execute(database, "BEGIN");

	if (!status)
		status = database_query_number(database, "SELECT count(*) FROM sqlite_master",
					       tables);
	if (!status)
		status = database_query_number(database, "PRAGMA application_id", application_id);
	if (!status)
		status = database_query_number(database, "PRAGMA user_version", version);
	if (!status)
		return database_execute(database, "COMMIT");
	database_roll_back(database);
	return status;
}

/* sql: of check_pages(). *version: of a store. */
static int check(struct database *database, const char *path, const char *sql, int64_t *version,
		 char **error)
{
	int64_t application_id, tables, others = 0;
	int status = read_kind(database, &application_id, version, &tables);

	if (status == -EPROTO)
		return refuse(error, path, "damaged, or not a database", database_error(database));
	if (status)
		return fail(error, path, status, database);
	if (application_id == 0 && *version == 0 && tables == 0)
		return -ENOENT;
	if (application_id != STORE_APPLICATION_ID)
		return refuse(error, path, "not a Flamegrid profile", "");
	if (*version < STORE_SCHEMA_OLDEST || *version > STORE_SCHEMA_VERSION)
		return refuse_version(error, path, *version);
	/* A view in a table's place may have rows without end. */
	status = database_query_number(
		database,
		"SELECT count(*) FROM sqlite_master WHERE"
		" type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'",
		&others);
	if (!status && others)
		return refuse(error, path, "damaged", "it has more than tables and indexes");
	return status ? fail(error, path, status, database)
		      : check_pages(database, path, sql, error);
}

int store_schema_check(struct database *database, const char *path, char **error)
{
	int64_t version, writers = 0;
	int status = check(database, path, check_all, &version, error);

	if (!status && version != STORE_SCHEMA_VERSION)
		return refuse_version(error, path, version);
	if (!status && database_query_number(database, "SELECT count(*) FROM writers", &writers))
		return refuse(error, path, "damaged", database_error(database));
	if (writers > 1)
		return refuse(error, path, "a merged profile can be read, but not continued", "");
	return status;
}

int store_schema_show(struct database *database)
{
	int64_t version;
	int error = database_query_number(database, "PRAGMA user_version", &version);

	if (!error && (version < STORE_SCHEMA_OLDEST || version > STORE_SCHEMA_VERSION))
		error = -EPROTO;
	for (; !error && version < STORE_SCHEMA_VERSION; version++)
		error = database_execute(database, views[version - STORE_SCHEMA_OLDEST]);
	return error;
}

static int check_and_show(struct database *database, const char *path, const char *sql,
			  char **error)
{
	int64_t version;
	int status = check(database, path, sql, &version, error);

	if (status)
		return status;
	status = store_schema_show(database);
	return status && status != -ENOMEM
		       ? refuse(error, path, "damaged", database_error(database))
		       : status;
}

int store_schema_read(struct database *database, const char *path, char **error)
{
	return check_and_show(database, path, check_sums, error);
}

int store_schema_read_names(struct database *database, const char *path, char **error)
{
	return check_and_show(database, path, check_names, error);
}

int store_schema_create(struct database *database)
{
	int error = database_execute(database, schema);

	if (error)
		database_roll_back(database);
	return error;
}

int store_schema_select_final(const char *table, const char *order, char *sql, size_t size)
{
	const char *rows = strcmp(table, "timelines") == 0
				   ? "level, process, device_id, context_id, stream_id, records,"
				     " sum_ns, busy_ns, busy_ns, last_ns, first_ns, last_ns, late,"
				     " late_ns, close_at, 0, uncaptured_ns"
				   : "*";
	const char *which = strcmp(table, "timeline_blocks") == 0 ? " WHERE false" : "";

	return snprintf(sql, size, "SELECT %s FROM %s%s%s%s", rows, table, which,
			order ? " ORDER BY " : "", order ? order : "") < (int)size
		       ? 0
		       : -ENAMETOOLONG;
}
