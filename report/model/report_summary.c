#include "report_summary.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "proto/memory_kind.h"
#include "report/names/text_line.h"

#define NUMBER_SIZE 32u

const struct report_loss *report_summary_loss(const struct report_tree *tree,
					      enum ledger_reason reason)
{
	const char *wanted = ledger_reason_name(reason);

	for (uint32_t i = 0; i < tree->nr_losses; i++)
		if (strcmp(tree->strings[tree->losses[i].reason], wanted) == 0)
			return &tree->losses[i];
	return NULL;
}

bool report_summary_has_windows(const struct report_tree *tree)
{
	return report_summary_loss(tree, LEDGER_CAPTURE_WINDOW);
}

const char *report_summary_count(uint64_t count, char *text)
{
	char digits[NUMBER_SIZE];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count), out = 0;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			text[out++] = ',';
		text[out++] = digits[i];
	}
	text[out] = '\0';
	return text;
}

const char *report_summary_share(double part, double whole, char *text)
{
	const double percent = report_summary_percent(part, whole);

	if (part < whole && percent >= 99.995)
		snprintf(text, NUMBER_SIZE, "> 99.99%%");
	else if (part > 0 && percent < 0.005)
		snprintf(text, NUMBER_SIZE, "< 0.01%%");
	else
		snprintf(text, NUMBER_SIZE, "%.2f%%", percent);
	return text;
}

double report_summary_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

const char *report_summary_time(uint64_t ns, char *text)
{
	static const char *const units[] = {"us", "ms", "s"};
	uint64_t unit_ns = 1000;
	int unit = 0;

	if (ns < 1000) {
		snprintf(text, NUMBER_SIZE, "%" PRIu64 " ns", ns);
		return text;
	}
	/* What rounds to 1,000 of a unit is 1 of the next. */
	while (unit < 2 && ns >= unit_ns * 1000 - unit_ns / 2000) {
		unit_ns *= 1000;
		unit++;
	}
	const uint64_t step_ns = unit_ns / 1000; /* of the last digit */
	const uint64_t steps = ns / step_ns + (ns % step_ns * 2 >= step_ns && step_ns > 1);
	snprintf(text, NUMBER_SIZE, "%" PRIu64 ".%03u %s", steps / 1000,
		 (unsigned int)(steps % 1000), units[unit]);
	return text;
}

/* The share is rounded down, so 100.00 % means all records. Without records there is no share. */
static void append_matched(const struct report_tree *tree, char *line, size_t size)
{
	uint64_t records = tree->kernels + tree->copies + tree->graphs;

	if (records == 0) {
		text_line_append(line, size, ", no GPU work was seen");
		return;
	}
	uint64_t share = (uint64_t)((unsigned __int128)tree->matched * 10000 / records);
	text_line_append(line, size, ", %" PRIu64 ".%02" PRIu64 " %% matched", share / 100,
			 share % 100);
}

/* Totals of windows are not totals of the run, so the line says so. */
static void append_windows(const struct report_tree *tree, char *line, size_t size)
{
	const struct report_loss *loss = report_summary_loss(tree, LEDGER_CAPTURE_WINDOW);
	char time[NUMBER_SIZE], count[NUMBER_SIZE];

	if (loss)
		text_line_append(line, size, "; captured %s in %s window%s, not the run",
				 report_summary_time(loss->ns, time),
				 report_summary_count(loss->count, count),
				 loss->count == 1 ? "" : "s");
}

static void append_work(const struct report_tree *tree, char *line, size_t size)
{
	char number[NUMBER_SIZE];

	text_line_append(line, size, "%s kernel%s, ", report_summary_count(tree->kernels, number),
			 tree->kernels == 1 ? "" : "s");
	if (tree->graphs)
		text_line_append(line, size, "%s graph%s, ",
				 report_summary_count(tree->graphs, number),
				 tree->graphs == 1 ? "" : "s");
	text_line_append(
		line, size, "%s of GPU time",
		report_summary_time(tree->kernel_ns + tree->copy_ns + tree->graph_ns, number));
	append_matched(tree, line, size);
}

/* Of an empty profile, the verdict is more than numbers that are 0. */
const char *report_summary_line(const struct report_tree *tree, char *line, size_t size)
{
	char number[NUMBER_SIZE];

	*line = '\0';
	if (tree->simulated)
		text_line_append(line, size, "SIMULATED GPU: ");
	if (tree->state == REPORT_EMPTY)
		text_line_append(line, size, "%s", tree->verdict);
	else
		append_work(tree, line, size);
	append_windows(tree, line, size);
	if (tree->lost)
		text_line_append(line, size, "; lost %s", report_summary_count(tree->lost, number));
	if (tree->state != REPORT_EMPTY && tree->verdict && *tree->verdict)
		text_line_append(line, size, "; %s", tree->verdict);
	return line;
}

static bool has_reason(const struct report_tree *tree, const struct report_loss *loss,
		       enum ledger_reason reason)
{
	return strcmp(tree->strings[loss->reason], ledger_reason_name(reason)) == 0;
}

static void write_losses(FILE *out, const struct report_tree *tree, int lost, const char *prefix)
{
	char number[NUMBER_SIZE];

	for (uint32_t i = 0; i < tree->nr_losses; i++) {
		const struct report_loss *loss = &tree->losses[i];

		/* The line above names the windows. */
		if (loss->lost != lost || has_reason(tree, loss, LEDGER_CAPTURE_WINDOW))
			continue;
		fprintf(out, "%s%s: %s [%s]: %s", prefix, lost ? "lost" : "noted",
			tree->strings[loss->text], tree->strings[loss->reason],
			report_summary_count(loss->count, number));
		/* The text names the longest time behind, which is no sum. */
		if (loss->ns && !has_reason(tree, loss, LEDGER_BEHIND))
			fprintf(out, " (%s)", report_summary_time(loss->ns, number));
		fputc('\n', out);
	}
}

void report_summary_write(FILE *out, const struct report_tree *tree, const char *prefix)
{
	char line[REPORT_SUMMARY_SIZE];

	fprintf(out, "%s%s\n", prefix, report_summary_line(tree, line, sizeof(line)));
	report_summary_ledger(out, tree, prefix);
	report_summary_cost(out, tree, prefix);
}

void report_summary_title(FILE *out, const struct report_tree *tree)
{
	if (*tree->title)
		fprintf(out, "%s\n\n", tree->title);
}

void report_summary_ledger(FILE *out, const struct report_tree *tree, const char *prefix)
{
	write_losses(out, tree, 1, prefix);
	write_losses(out, tree, 0, prefix);
}

/* Idle time is counted in parts of gaps, whose number tells nothing. */
static const char *idle_line(const struct report_tree *tree, char *line, size_t size)
{
	const uint64_t ns = tree->plane_totals[REPORT_PLANE_IDLE].ns;
	char time[NUMBER_SIZE];

	snprintf(line, size, "%s: %s", report_plane_label(REPORT_PLANE_IDLE),
		 report_summary_time(ns, time));
	if (tree->pause_ns)
		text_line_append(line, size,
				 ", of it %s in pauses, such as the start of the program",
				 report_summary_time(tree->pause_ns, time));
	return line;
}

/* The parts of all GPUs. */
static const char *energy_line(const struct report_tree *tree, char *line, size_t size)
{
	uint64_t parts[3] = {0};
	bool is_known = false;
	char all[NUMBER_SIZE], idle[NUMBER_SIZE], work[NUMBER_SIZE], rest[NUMBER_SIZE];

	for (uint32_t i = 0; i < tree->nr_usage; i++) {
		const struct report_resource *row = &tree->usage[i].resources[RESOURCE_ENERGY];

		is_known |= row->idle_kind != RESOURCE_IDLE_UNKNOWN;
		parts[0] = ledger_add_saturating(parts[0], row->idle);
		parts[1] = ledger_add_saturating(parts[1], row->work);
		parts[2] = ledger_add_saturating(parts[2], row->rest);
	}
	snprintf(line, size,
		 "%s: %s by the boards' counters; %s without work, %s for work, %s not explained",
		 report_plane_label(REPORT_PLANE_ENERGY),
		 report_summary_energy(
			 tree->plane_totals[REPORT_PLANE_ENERGY].amounts[RESOURCE_ENERGY], all),
		 is_known ? report_summary_energy(parts[0], idle) : "an unknown part",
		 report_summary_energy(parts[1], work), report_summary_energy(parts[2], rest));
	return line;
}

static bool knows(const struct report_tree *tree, enum resource resource)
{
	for (uint32_t i = 0; i < tree->nr_usage; i++)
		if (tree->usage[i].resources[resource].ns)
			return true;
	return false;
}

/* Of the resources that some GPU knows. */
static const char *use_line(const struct report_tree *tree, char *line, size_t size)
{
	const struct report_plane_total *total = &tree->plane_totals[REPORT_PLANE_USE];
	const char *comma = "";
	char text[NUMBER_SIZE];

	snprintf(line, size, "%s:", report_plane_label(REPORT_PLANE_USE));
	for (uint32_t i = RESOURCE_SM; i < RESOURCES; i++) {
		const uint64_t amount = total->amounts[i];

		if (!knows(tree, (enum resource)i))
			continue;
		text_line_append(line, size, "%s %s %s", comma,
				 resource_label((enum resource)i),
				 resource_unit((enum resource)i) == RESOURCE_NS
					 ? report_summary_time(amount, text)
					 : report_summary_bytes(amount, text));
		comma = ",";
	}
	return line;
}

/* A plane's own total, shown or not: "host waits: 12,345 in 1.230 s", with ", 4,096 bytes" where there are any. */
static const char *plane_line(const struct report_tree *tree, enum report_plane plane, char *line,
			      size_t size)
{
	const struct report_plane_total *total = &tree->plane_totals[plane];
	char count[NUMBER_SIZE], time[NUMBER_SIZE];

	if (plane == REPORT_PLANE_IDLE)
		return idle_line(tree, line, size);
	if (plane == REPORT_PLANE_ENERGY)
		return energy_line(tree, line, size);
	if (plane == REPORT_PLANE_USE)
		return use_line(tree, line, size);
	snprintf(line, size, "%s: %s %s %s", report_plane_label(plane),
		 report_summary_count(total->count, count),
		 plane == REPORT_PLANE_STALLS ? "samples of" : "in",
		 report_summary_time(total->ns, time));
	if (total->bytes)
		text_line_append(line, size, ", %s bytes",
				 report_summary_count(total->bytes, count));
	return line;
}

bool report_summary_has(const struct report_tree *tree, enum report_plane plane)
{
	const struct report_plane_total *total = &tree->plane_totals[plane];
	bool has = total->count > 0;

	for (uint32_t i = 0; i < RESOURCES; i++)
		has |= total->amounts[i] > 0;
	return has;
}

void report_summary_planes(FILE *out, const struct report_tree *tree, const char *prefix)
{
	char line[REPORT_SUMMARY_SIZE];

	for (uint32_t plane = REPORT_PLANE_GPU + 1; plane < REPORT_PLANES; plane++)
		if (report_summary_has(tree, (enum report_plane)plane) &&
		    plane != REPORT_PLANE_MEMORY)
			fprintf(out, "%s%s\n", prefix,
				plane_line(tree, (enum report_plane)plane, line, sizeof(line)));
}

bool report_summary_mixed(const struct report_tree *tree, char *line, size_t size)
{
	uint32_t nr_planes = 0;

	snprintf(line, size, "several planes side by side, never to be added up:");
	for (uint32_t plane = 0; plane < REPORT_PLANES; plane++) {
		if (!(tree->planes & 1u << plane) || !tree->plane_totals[plane].count)
			continue;
		text_line_append(line, size, "%s%s", nr_planes++ ? ", " : " ",
				 report_plane_name((enum report_plane)plane));
	}
	return nr_planes > 1;
}

/* Returns whether a note says that all is well: of each file the stacks can be unwound. */
static bool is_complete(const char *notice)
{
	unsigned int built, all;

	return sscanf(notice, "unwind tables: %u of %u files", &built, &all) == 2 && built == all;
}

void report_summary_notices(FILE *out, const struct report_tree *tree, const char *prefix)
{
	char number[NUMBER_SIZE], all[NUMBER_SIZE];

	for (uint32_t i = 0; i < tree->nr_notices && i < REPORT_SUMMARY_NOTICES; i++) {
		const struct report_notice *notice = &tree->notices[i];

		if (is_complete(tree->strings[notice->text]))
			continue;
		fprintf(out, "%snote: %s", prefix, tree->strings[notice->text]);
		if (tree->nr_processes > 1 && notice->nr_processes)
			fprintf(out, " (%s of %s processes)",
				report_summary_count(notice->nr_processes, number),
				report_summary_count(tree->nr_processes, all));
		fputc('\n', out);
	}
	if (tree->nr_notices > REPORT_SUMMARY_NOTICES)
		fprintf(out, "%snote: %s more in the JSON report\n", prefix,
			report_summary_count(tree->nr_notices - REPORT_SUMMARY_NOTICES, number));
}

const char *report_summary_energy(uint64_t mj, char *text)
{
	char joules[NUMBER_SIZE];

	/* 2^64 mJ are 2 * 10^16 J, so nothing wraps. */
	const uint64_t tenths = mj / 100 + (mj % 100 >= 50);

	report_summary_count(tenths / 10, joules);
	snprintf(text, NUMBER_SIZE, "%.26s.%u J", joules, (unsigned int)(tenths % 10));
	return text;
}

const char *report_summary_bytes(uint64_t bytes, char *text)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	unsigned int shift = 10, unit = 0;

	if (bytes < 1024) {
		snprintf(text, NUMBER_SIZE, "%" PRIu64 " B", bytes);
		return text;
	}
	while (unit < 5 && bytes >> shift >= 1024) {
		shift += 10;
		unit++;
	}
	uint64_t tenths = (bytes >> (shift - 10) & 1023) * 10 / 1024;
	snprintf(text, NUMBER_SIZE, "%" PRIu64 ".%u %s", bytes >> shift, (unsigned int)tenths % 10,
		 units[unit]);
	return text;
}

const char *report_summary_space(const struct report_memory_row *row, char *text)
{
	char gpu[12] = "?"; /* room for any int32_t */

	if (row->gpu != REPORT_GPU_NONE)
		snprintf(gpu, sizeof(gpu), "%" PRId32, row->gpu);
	if (row->space == MEMORY_SPACE_HOST)
		snprintf(text, NUMBER_SIZE, "host memory");
	else
		snprintf(text, NUMBER_SIZE, "GPU%s %smemory", gpu,
			 row->space == MEMORY_SPACE_MANAGED ? "managed " : "");
	return text;
}

static void write_memory_row(FILE *out, const struct report_tree *tree,
			     const struct report_memory_row *row)
{
	char space[NUMBER_SIZE], peak[NUMBER_SIZE], time[NUMBER_SIZE];
	char live[NUMBER_SIZE], count[NUMBER_SIZE];

	fputs(report_summary_space(row, space), out);
	if (tree->nr_processes > 1)
		fprintf(out, " of %s pid %" PRIu32, tree->strings[row->host], row->pid);
	fprintf(out, ": peak %s after %s; ", report_summary_bytes(row->peak_bytes, peak),
		report_summary_time(row->peak_after_ns, time));
	if (row->live_count == 0)
		fputs(row->ended ? "all freed" : "nothing live", out);
	else
		fprintf(out, "%s in %s %s %s", report_summary_bytes(row->live_bytes, live),
			report_summary_count(row->live_count, count),
			row->live_count == 1 ? "allocation" : "allocations",
			row->ended ? "never freed" : "live");
	if (row->left_out)
		fprintf(out, "; not exact: %s %s left out or out of order",
			report_summary_count(row->left_out, count),
			row->left_out == 1 ? "event" : "events");
	fputc('\n', out);
}

void report_summary_memory(FILE *out, const struct report_tree *tree, const char *prefix)
{
	char number[NUMBER_SIZE];

	for (uint32_t i = 0; i < tree->nr_memory && i < REPORT_SUMMARY_NOTICES; i++) {
		fputs(prefix, out);
		write_memory_row(out, tree, &tree->memory[i]);
	}
	if (tree->nr_memory > REPORT_SUMMARY_NOTICES)
		fprintf(out, "%smemory of %s more in the table report\n", prefix,
			report_summary_count(tree->nr_memory - REPORT_SUMMARY_NOTICES, number));
	if (tree->nr_memory)
		fprintf(out,
			"%smemory is what CUDA's calls allocate: allocators that cache (PyTorch's) "
			"show as the segments they take\n",
			prefix);
}

static void write_share(FILE *out, uint64_t ns, uint64_t of_ns)
{
	uint64_t share = profile_cost_share(ns, of_ns);

	fprintf(out, "%" PRIu64 ".%02" PRIu64 " %% of ", share / 1000, share % 1000 / 10);
}

static void write_stacks(FILE *out, const struct profile_cost *cost)
{
	char time[NUMBER_SIZE], count[NUMBER_SIZE];

	if (cost->stacks.count)
		fprintf(out, ", %s new stack%s of %s in all",
			report_summary_count(cost->stacks.count, count),
			cost->stacks.count == 1 ? "" : "s",
			report_summary_time(cost->stacks.ns, time));
}

/* Launches count by blocks, so some are in none. */
static void write_guest(FILE *out, const struct profile_cost *cost, uint64_t launches)
{
	char time[NUMBER_SIZE], count[NUMBER_SIZE], each[NUMBER_SIZE];

	if (!cost->calls.count || cost->calls.count < launches / 2) {
		fprintf(out, "not known for launches: metered launches stand for %s of %s launches",
			report_summary_count(cost->calls.count, count),
			report_summary_count(launches, each));
		write_stacks(out, cost);
		return;
	}
	write_share(out, profile_cost_guest_ns(cost), cost->threads.ns);
	fputs("the launching threads' time", out);
	if (cost->busiest_thread_ns && cost->busiest_thread_ns != cost->threads.ns) {
		fputs(", ", out);
		write_share(out, cost->busiest.ns, cost->busiest_thread_ns);
		fputs("that of the thread which paid most", out);
	}
	fprintf(out, " (guest %s: %s%s launches of %s each",
		report_summary_time(profile_cost_guest_ns(cost), time),
		cost->metered < cost->calls.count ? "about " : "",
		report_summary_count(cost->calls.count, count),
		report_summary_time(cost->calls.ns / cost->calls.count, each));
	write_stacks(out, cost);
	fputs("; without CUPTI", out);
	if (cost->outliers.count)
		fprintf(out, " and %s interrupted launch%s",
			report_summary_count(cost->outliers.count, count),
			cost->outliers.count == 1 ? "" : "es");
	fputc(')', out);
}

void report_summary_cost(FILE *out, const struct report_tree *tree, const char *prefix)
{
	const struct profile_cost *cost = &tree->cost;
	char bytes[NUMBER_SIZE];

	if (!cost->threads.count)
		return;
	fprintf(out, "%sprofiling cost: ", prefix);
	write_guest(out, cost, tree->launches);
	if (cost->agent_run_ns) {
		fputs(cost->nr_agents > 1 ? "; agents " : "; agent ", out);
		write_share(out, cost->agent_cpu_ns, cost->agent_run_ns);
		fprintf(out, "a core%s, %s at most", cost->nr_agents > 1 ? " each" : "",
			report_summary_bytes(cost->agent_peak_bytes, bytes));
	}
	if (cost->table_bytes)
		fprintf(out, "; %s of unwind tables built",
			report_summary_bytes(cost->table_bytes, bytes));
	fputc('\n', out);
}
