#include "communicator_column.h"

#include <inttypes.h>

#include "report/names/communicator_names.h"

#define HEADING "communicator"

static void write_texts(const struct communicator_column *column, const char *name, const char *key)
{
	fprintf(column->out, "%s%*s", name,
		(int)(column->columns - communicator_names_columns(name)), "");
	if (column->has_keys)
		fprintf(column->out, "  %-16s", key);
}

void communicator_column_init(struct communicator_column *column, FILE *out, bool has_keys)
{
	*column = (struct communicator_column){
		.out = out, .has_keys = has_keys, .columns = sizeof(HEADING) - 1};
}

void communicator_column_widen(struct communicator_column *column, const char *name)
{
	uint32_t columns = communicator_names_columns(name);

	if (columns > column->columns)
		column->columns = columns;
}

void communicator_column_heading(const struct communicator_column *column)
{
	write_texts(column, HEADING, "key");
}

void communicator_column_write(const struct communicator_column *column, const char *name,
			       uint64_t key)
{
	char text[32] = "";

	if (key)
		snprintf(text, sizeof(text), "%016" PRIx64, key);
	write_texts(column, name, text);
}
