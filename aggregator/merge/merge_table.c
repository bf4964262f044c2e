#include "merge_table.h"

#define N MERGE_NUMBER
#define S MERGE_STRING
#define P MERGE_PROCESS

/* Two writers may know a device or a host, and one of them more than the other. A known value replaces an unknown one;
 * of two known values the least is taken. Of links NVLink goes before PCIe, and the greatest peak counts: the other
 * writer came while some NVLinks were down. So no order of the profiles makes a difference. */
#define LEAST_KNOWN(column, unknown)                                                               \
	column " = CASE WHEN " column " IS " unknown " THEN excluded." column " WHEN excluded."    \
	column " IS " unknown " THEN " column " ELSE min(" column ", excluded." column ") END"
#define MOST(column) column " = max(" column ", excluded." column ")"
#define MOST_LIMITS                                                                                \
	"DO UPDATE SET " MOST("compute_major") "," MOST("compute_minor") ","                       \
	MOST("multiprocessors") "," MOST("warp_size") "," MOST("sm_threads") ","                   \
	MOST("sm_blocks") "," MOST("sm_registers") "," MOST("sm_shared_bytes") ","                 \
	MOST("block_threads") "," MOST("block_registers") "," MOST("block_shared_bytes") ","       \
	MOST("block_shared_optin_bytes") "," MOST("block_reserved_bytes")

/* Two copies of one agent's row: it only grows, so one of them is a newer state of the other. */
#define NEWER(column) column " = excluded." column
#define NEWEST_TELEMETRY                                                                           \
	"DO UPDATE SET " NEWER("refusal") "," NEWER("last_ns") "," NEWER("readings") ","           \
	NEWER("observed_ns") "," NEWER("clock_ns") "," NEWER("sm_cycles") ","                      \
	NEWER("memory_cycles") "," NEWER("sm_min_mhz") "," NEWER("sm_max_mhz") ","                 \
	NEWER("idle_ns") "," NEWER("hw_thermal_ns") "," NEWER("hw_power_brake_ns") ","             \
	NEWER("hw_slowdown_ns") "," NEWER("sw_thermal_ns") "," NEWER("sw_power_cap_ns") ","        \
	NEWER("sync_boost_ns") "," NEWER("set_clocks_ns") "," NEWER("other_ns") ","                \
	NEWER("free_ns") "," NEWER("power_ns") "," NEWER("power_nj") "," NEWER("energy_ns") ","    \
	NEWER("energy_mj") "," NEWER("max_celsius") "," NEWER("ecc_ns") ","                        \
	NEWER("ecc_corrected") "," NEWER("ecc_uncorrected") "," NEWER("gpm_refusal") ","           \
	NEWER("computing_known_ns") "," NEWER("computing_ns") ","                                  \
	NEWER("sm_known_ns") "," NEWER("sm_ns") ","                                                \
	NEWER("occupancy_known_ns") "," NEWER("occupancy_ns") ","                                  \
	NEWER("tensor_known_ns") "," NEWER("tensor_ns") ","                                        \
	NEWER("dram_known_ns") "," NEWER("dram_ns") ","                                            \
	NEWER("pcie_sent_known_ns") "," NEWER("pcie_sent_bytes") ","                               \
	NEWER("pcie_received_known_ns") "," NEWER("pcie_received_bytes") ","                       \
	NEWER("nvlink_sent_known_ns") "," NEWER("nvlink_sent_bytes") ","                           \
	NEWER("nvlink_received_known_ns") "," NEWER("nvlink_received_bytes") ","                   \
	NEWER("dram_bytes_known_ns") "," NEWER("dram_bytes")                                       \
	" WHERE (excluded.last_ns, excluded.readings) > (last_ns, readings)"

const struct merge_table merge_tables[] = {
	{"writers", NULL, NULL, {MERGE_WRITER, MERGE_BYTES, N, N}},
	{"hosts", NULL, "DO NOTHING", {MERGE_HOST, S, S}},
	{"devices",
	 NULL,
	 "DO UPDATE SET " LEAST_KNOWN("device_index", "NULL") "," LEAST_KNOWN(
		 "name", "0") "," LEAST_KNOWN("pci", "0"),
	 {MERGE_DEVICE, MERGE_HOST, N, MERGE_BYTES, S, S}},
	{"device_limits",
	 NULL,
	 MOST_LIMITS,
	 {MERGE_DEVICE, N, N, N, N, N, N, N, N, N, N, N, N, N}},
	{"device_topology",
	 NULL,
	 "DO UPDATE SET " LEAST_KNOWN("numa_node", "NULL") "," LEAST_KNOWN("cpus", "0"),
	 {MERGE_DEVICE, N, S}},
	{"device_links",
	 NULL,
	 "DO UPDATE SET link = excluded.link, bytes_per_second = excluded.bytes_per_second"
	 " WHERE (excluded.link, -excluded.bytes_per_second) < (link, -bytes_per_second)",
	 {MERGE_DEVICE, N, N}},
	{"device_telemetry",
	 NULL,
	 NEWEST_TELEMETRY,
	 {MERGE_DEVICE, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
	  N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N}},
	{"counter_states",
	 NULL,
	 "DO UPDATE SET " NEWER("refusal") "," NEWER("last_ns") "," NEWER("samples") ","
	 NEWER("kept") "," NEWER("unsent") "," NEWER("dropped") "," NEWER("overflows") ","
	 NEWER("asked_ns") "," NEWER("covered_ns") "," NEWER("invalid")
	 " WHERE (excluded.asked_ns, excluded.last_ns, excluded.samples, excluded.dropped)"
	 " > (asked_ns, last_ns, samples, dropped)",
	 {MERGE_DEVICE, N, N, N, N, N, N, N, N, N, N, N, N}},
	{"counter_samples", NULL, "DO NOTHING", {MERGE_DEVICE, N, N, N, N, N, N, N, N, N, N}},
	{"host_clocks",
	 NULL,
	 "DO UPDATE SET realtime_offset_ns = min(realtime_offset_ns, excluded.realtime_offset_ns)",
	 {MERGE_HOST, N}},
	{"clock_offsets", NULL, "DO NOTHING", {MERGE_HOST, S, N, N, N, N, N, N}},
	{"epochs", NULL, NULL, {MERGE_EPOCH, MERGE_BYTES, MERGE_HOST, S, N, N, N, MERGE_WRITER}},
	{"processes",
	 NULL,
	 NULL,
	 {P, MERGE_HOST, N, N, N, MERGE_BYTES, N, N, N, N, S, S, N, N, N, N, N, N, N, N, N, N, N,
	  MERGE_WRITER}},
	{"epoch_ids",
	 NULL,
	 NULL,
	 {MERGE_EPOCH, MERGE_IDS_KIND, N, MERGE_COUNT, MERGE_BLOCK_PROCESSES}},
	{"process_devices", NULL, NULL, {P, N, MERGE_DEVICE}},
	{"process_notices", NULL, NULL, {P, N, S}},
	{"streams", NULL, NULL, {P, N, N, S, N, N}},
	{"contexts", NULL, NULL, {P, N, N, N, N, N}},
	{"ledger", NULL, NULL, {MERGE_EPOCH, P, N, N, N, N}},
	{"api_calls", NULL, NULL, {P, N, N, N, S, N, N, N, N, N}},
	{"kernel_configs", NULL, NULL, {P, N, S, N, N, N, N, N, N, N, N, N, N, N, N, N, N}},
	{"kernel_metrics", NULL, NULL, {P, N, MERGE_NODE, S, S, N, N, N, N, N, N}},
	{"launch_delays", NULL, NULL, {P, N, N, N, N, N}},
	{"launch_cpus", NULL, NULL, {P, N, N, N}},
	{"memory", NULL, NULL, {P, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N}},
	{"memory_stacks", NULL, NULL, {P, N, N, MERGE_NODE, N, N, N, N, N, N}},
	{"timelines",
	 NULL,
	 NULL,
	 {MERGE_LEVEL, MERGE_LEVEL_PROCESS, MERGE_LEVEL_DEVICE, N, N, N, N, N, N, N, N, N, N, N, N,
	  N, N}},
	{"pending", NULL, NULL, {P, MERGE_PENDING_KIND, N, MERGE_COUNT, MERGE_BLOCK_PENDING}},
	{"sample_blocks", NULL, NULL, {P, N, N, N, MERGE_COUNT, MERGE_BLOCK_SAMPLES}},
	{"sample_levels", NULL, NULL, {P, N, N}},
	{"idle_devices", NULL, NULL, {MERGE_DEVICE, MERGE_WRITER, N, N}},
	{"idle_blocks",
	 NULL,
	 NULL,
	 {MERGE_DEVICE, MERGE_WRITER, N, N, MERGE_COUNT, MERGE_BLOCK_WORK}},
	{"raw_samples", "id", NULL, {MERGE_ARRIVAL, P, N, N, N, MERGE_NODE, S, N, N, S}},
	{"communicators", NULL, NULL, {P, N, N, N, N, N, N, N, N}},
	{"collectives",
	 "id",
	 NULL,
	 {MERGE_ARRIVAL, P, N, N, MERGE_NODE, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
	  N, N, N, N, N, MERGE_NODE, S}},
	{"collective_folds",
	 NULL,
	 NULL,
	 {MERGE_WRITER, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N}},
	{"collective_members", NULL, NULL, {P, N, N, N, N, N, N, MERGE_BYTES}},
	{"collective_sums",
	 NULL,
	 NULL,
	 {P, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, MERGE_BYTES}},
	{"collective_splits",
	 NULL,
	 "DO UPDATE SET count = count + excluded.count, ns = ns + excluded.ns,"
	 " bytes = bytes + excluded.bytes",
	 {P, N, N, N, N, MERGE_NODE, S, N, P, N, N, N, N}},
	{"collective_kernels", NULL, NULL, {P, N, N, N, N, N, N, N, N, N, N, MERGE_NODE, S}},
	{"collective_joins", NULL, NULL, {P, N, N}},
};

const size_t merge_nr_tables = sizeof(merge_tables) / sizeof(merge_tables[0]);

const char *const merge_other_tables[] = {
	"meta",     "strings", "modules",      "codes",        "frames",          "nodes",
	"messages", "totals",  "host_samples", "total_blocks", "timeline_blocks", NULL,
};
