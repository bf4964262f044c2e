#include "timeline_output.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output_file.h"
#include "cli/base/pager.h"
#include "cli/base/verbs.h"

struct output {
	timeline_output_writer *write;
	const void *context;
	struct text_form form;
};

static int write_text(void *context, FILE *out)
{
	const struct output *output = context;

	return output->write(output->context, &output->form, out);
}

static int write_file(struct output *output, const char *path)
{
	struct output_file file;
	int error = output_file_open(&file, path, OUTPUT_FILE_FOLLOWS, 0666);

	return error ? error : output_file_close(&file, write_text(output, file.stream));
}

static int write_standard(struct output *output, bool is_table)
{
	struct terminal terminal;

	terminal_read(&terminal, STDOUT_FILENO);
	if (!terminal.is_terminal || !is_table)
		return write_text(output, stdout);
	output->form = (struct text_form){terminal.columns, terminal.has_colours};
	return pager_show_text(&terminal, write_text, output);
}

int timeline_output_write(const char *path, bool is_table, timeline_output_writer *write,
			  const void *context)
{
	struct output output = {write, context, {0}};
	const int error = path ? write_file(&output, path) : write_standard(&output, is_table);

	if (!error)
		return EXIT_OK;
	log_error("%s: %s", path ? path : "standard output", strerror(-error));
	return EXIT_FAILED;
}
