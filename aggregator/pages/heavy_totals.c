#include "heavy_totals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/fold_limit.h"
#include "aggregator/core/fold_table.h"
#include "aggregator/store/block_code.h"
#include "aggregator/store/store_note.h"
#include "aggregator/store/store_totals.h"
#include "proto/host_sample.h"
#include "proto/record.h"

/* Statements that make temporary tables like the store's own, which are found before these. */
#define TABLES                                                                                     \
	"SELECT CAST(group_concat('CREATE TEMP ' || substr(sql, 1 + length('CREATE ')), ';') AS"   \
	" BLOB) FROM main.sqlite_master WHERE type = 'table'"                                      \
	" AND name IN (" HEAVY_TOTALS_TABLES(QUOTED) "'meta')"
#define QUOTED(name) "'" name "', "
#define LISTED(name) name,
#define TABLES_SIZE  4096u
#define NODE_SIZE    256u
#define SHARE        10000u /* parts of a whole in a note */

/* An amount, and what of it is in the rows that are not kept. */
struct heavy_amount {
	uint64_t total, left;
};

/* The rows of one kind, heaviest first. */
struct heavy_rows {
	struct fold_table *table; /* owns */
	struct fold_table *light; /* owns; the sums of the rows that are not kept */
	/* owns; what each has beside its sums is the tables'; later the kept ones, and those of `light` */
	struct fold_row *rows;
	uint32_t count, kept;
	struct heavy_amount ns; /* of GPU work, or of samples of host threads */
	/* records of other planes, some of which have no time; samples of kernels, which have none */
	struct heavy_amount others;
};

bool heavy_totals_in(const char *table)
{
	static const char *const names[] = {HEAVY_TOTALS_TABLES(LISTED)};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], table) == 0)
			return true;
	return false;
}

/* Equal ones are in the order of their keys. */
static int by_ns(const void *a, const void *b)
{
	const struct fold_row *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns > right->ns ? -1 : 1;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return memcmp(&left->key, &right->key, sizeof(left->key));
}

static bool is_other(enum store_totals_kind kind, const struct fold_row *row)
{
	return kind == STORE_TOTALS_GPU ? row->key.kind > RECORD_GPU_GRAPH
					: row->key.kind >= HOST_SAMPLE_KERNEL;
}

/* The heavier is the lesser. GPU work is heavier than any record of another plane, and a sample of a host thread than
 * any of a kernel. */
static int by_weight(const void *a, const void *b, void *kind)
{
	const bool is_last = is_other(*(enum store_totals_kind *)kind, a);

	if (is_last != is_other(*(enum store_totals_kind *)kind, b))
		return is_last ? 1 : -1;
	return by_ns(a, b);
}

static int read_rows(struct heavy_rows *heavy, struct database *database,
		     enum store_totals_kind kind)
{
	uint32_t count;

	heavy->table = fold_table_create();
	int error = heavy->table ? store_totals_read(database, kind, heavy->table) : -ENOMEM;
	if (error)
		return error;
	const struct fold_row *rows = fold_table_rows(heavy->table, &count);
	heavy->rows = malloc((count + 1ull) * sizeof(*rows));
	if (!heavy->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		heavy->rows[i] = rows[i];
	heavy->count = count;
	qsort_r(heavy->rows, count, sizeof(*rows), by_weight, &kind);
	return 0;
}

static void add_up(struct heavy_rows *heavy, enum store_totals_kind kind)
{
	for (uint32_t i = 0; i < heavy->count; i++) {
		const struct fold_row *row = &heavy->rows[i];
		const bool is_counted = is_other(kind, row);
		const uint64_t amount = is_counted ? row->count : row->ns;
		struct heavy_amount *sum = is_counted ? &heavy->others : &heavy->ns;

		sum->total += amount;
		if (i >= heavy->kept)
			sum->left += amount;
	}
}

/* So a process's sums by device and kind stay whole. Of copies the direction is kept, too. The tid of samples of
 * kernels is their device. */
static int merge_light(struct heavy_rows *heavy, enum store_totals_kind kind)
{
	uint32_t nr_light;
	int error = 0;

	heavy->light = fold_table_create();
	if (!heavy->light)
		return -ENOMEM;
	for (uint32_t i = heavy->kept; i < heavy->count && !error; i++) {
		struct fold_row row = heavy->rows[i];

		row.key = fold_limit_merged(&heavy->rows[i].key);
		row.key.copy_kind = heavy->rows[i].key.copy_kind;
		if (kind == STORE_TOTALS_SAMPLES && is_other(kind, &row))
			row.key.tid = heavy->rows[i].key.tid;
		error = fold_table_join(heavy->light, &row);
	}
	const struct fold_row *light = fold_table_rows(heavy->light, &nr_light);
	for (uint32_t i = 0; i < nr_light; i++) /* there are no more of them */
		heavy->rows[heavy->kept + i] = light[i];
	heavy->count = heavy->kept + nr_light;
	return error;
}

/* Rounded up: what is left out is never nothing. */
static void say_left(FILE *out, const struct heavy_amount *amount, const char *what, bool *any)
{
	const double share = (double)amount->left / ((double)amount->total + 1) * SHARE;

	if (!amount->left)
		return;
	fprintf(out, "%s%.2f %% of its %s", *any ? ", " : "",
		((double)(uint64_t)share + 1) * 100 / SHARE, what);
	*any = true;
}

static int write_note(struct database *database, const uint8_t writer[static STORE_WRITER_SIZE],
		      const struct heavy_rows heavy[STORE_TOTALS_KINDS])
{
	struct store_note note = {.kind = STORE_NOTE_UNSENT};
	char node[NODE_SIZE] = "";
	FILE *out = fmemopen(note.text, sizeof(note.text), "w");
	bool any = false;

	if (!out)
		return -ENOMEM;
	store_note_node(database, node, sizeof(node));
	store_note_set_writer(&note, writer);
	fprintf(out, "%s (", *node ? node : "a node");
	say_left(out, &heavy[STORE_TOTALS_GPU].ns, "GPU time", &any);
	say_left(out, &heavy[STORE_TOTALS_GPU].others,
		 "records of waits, overhead, loads and memory", &any);
	say_left(out, &heavy[STORE_TOTALS_SAMPLES].ns, "host samples", &any);
	say_left(out, &heavy[STORE_TOTALS_SAMPLES].others, "samples of kernels", &any);
	fputs(any ? ")" : "sums without time)", out);
	fclose(out);
	return store_note_write(database, &note);
}

static int write_tables(struct database *database, const uint8_t writer[static STORE_WRITER_SIZE],
			const struct heavy_rows heavy[STORE_TOTALS_KINDS])
{
	struct statement_set set = {0};
	struct block_code code = {0};
	char tables[TABLES_SIZE];
	int error = database_query_text(database, TABLES, tables, sizeof(tables));

	if (!error)
		error = database_execute(database, tables);
	if (!error)
		error = database_execute(database, "INSERT INTO temp.meta SELECT * FROM main.meta");
	if (!error)
		error = statement_set_init(&set, database, store_totals_commands);
	for (uint32_t kind = 0; kind < STORE_TOTALS_KINDS && !error; kind++)
		error = store_totals_append(&set, &code, kind, heavy[kind].rows, heavy[kind].count);
	statement_set_fini(&set);
	block_code_fini(&code);
	return error ? error : write_note(database, writer, heavy);
}

int heavy_totals_keep(struct database *database, const uint8_t writer[static STORE_WRITER_SIZE],
		      uint32_t max_rows)
{
	struct heavy_rows heavy[STORE_TOTALS_KINDS] = {0};
	struct heavy_rows *gpu = &heavy[STORE_TOTALS_GPU], *samples = &heavy[STORE_TOTALS_SAMPLES];
	int error = 0;

	for (uint32_t kind = 0; kind < STORE_TOTALS_KINDS && !error; kind++)
		error = read_rows(&heavy[kind], database, kind);
	const uint32_t half = max_rows / 2;
	const uint32_t others = samples->count < half ? samples->count : half;
	gpu->kept = gpu->count < max_rows - others ? gpu->count : max_rows - others;
	samples->kept =
		samples->count < max_rows - gpu->kept ? samples->count : max_rows - gpu->kept;
	const bool is_all = gpu->kept == gpu->count && samples->kept == samples->count;
	for (uint32_t kind = 0; kind < STORE_TOTALS_KINDS && !error; kind++) {
		add_up(&heavy[kind], kind);
		error = merge_light(&heavy[kind], kind);
	}
	if (!error && !is_all)
		error = write_tables(database, writer, heavy);
	for (uint32_t kind = 0; kind < STORE_TOTALS_KINDS; kind++) {
		free(heavy[kind].rows);
		fold_table_destroy(heavy[kind].table);
		fold_table_destroy(heavy[kind].light);
	}
	return error;
}
