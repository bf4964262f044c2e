#include "man_page.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_text.h"
#include "options/option_table.h"
#include "proto/ledger.h"

#define TEXTS_MAX 96u

struct text {
	char name[32];
	char *lines; /* owns */
	bool is_used;
};

struct page {
	FILE *out, *source;
	const char *name;
	unsigned int line;
	struct text texts[TEXTS_MAX];
	size_t nr_texts;
	char *buffer; /* owns; getline()'s */
	size_t room;
};

static int refuse(const struct page *page, const char *what, const char *why)
{
	fprintf(stderr, "%s:%u: %s: %s\n", page->name, page->line, what, why);
	return -EINVAL;
}

/* Returns the line without its newline; NULL: the end. */
static char *read_line(struct page *page)
{
	ssize_t size = getline(&page->buffer, &page->room, page->source);

	if (size < 0)
		return NULL;
	page->line++;
	page->buffer[strcspn(page->buffer, "\n")] = '\0';
	return page->buffer;
}

/* Names in capitals stand for values of the user. */
static void print_argument(FILE *out, const char *argument)
{
	if (*argument == '[') {
		fputs(" Ns Op Cm =all", out);
		return;
	}
	while (*argument) {
		size_t size = strcspn(argument, "|");
		bool is_word = true;

		for (size_t i = 0; i < size; i++)
			is_word &= !isupper((unsigned char)argument[i]);
		fprintf(out, " %s %.*s%s", is_word ? "Cm" : "Ar", (int)size, argument,
			argument[size] ? " |" : "");
		argument += size + (argument[size] == '|');
	}
}

static struct text *find_text(struct page *page, const char *name)
{
	for (size_t i = 0; i < page->nr_texts; i++)
		if (strcmp(page->texts[i].name, name) == 0)
			return &page->texts[i];
	return NULL;
}

/* Gives the open text to the page's last one. 0 or -ENOMEM. */
static int end_text(struct page *page, struct memory_text *lines)
{
	size_t size;

	return lines->out ? memory_text_take(lines, &page->texts[page->nr_texts - 1].lines, &size)
			  : 0;
}

static int read_texts(struct page *page)
{
	struct memory_text lines = {0};
	char *line;

	while ((line = read_line(page)) != NULL) {
		if (*line != '@') {
			if (!lines.out)
				return refuse(page, line, "before any @text");
			fprintf(lines.out, "%s\n", line);
			continue;
		}
		if (end_text(page, &lines))
			return -ENOMEM;
		if (strcmp(line, "@end") == 0)
			return 0;
		if (strncmp(line, "@text ", 6) != 0 || page->nr_texts == TEXTS_MAX ||
		    strlen(line + 6) >= sizeof(page->texts->name))
			return refuse(page, line, "not @text NAME or @end");
		if (find_text(page, line + 6))
			return refuse(page, line, "comes twice");
		struct text *text = &page->texts[page->nr_texts++];
		*text = (struct text){0};
		strcpy(text->name, line + 6);
		if (memory_text_open(&lines))
			return -ENOMEM;
	}
	return refuse(page, "@options", "no @end");
}

static void print_option(struct page *page, const struct option_row *row)
{
	struct text *text = find_text(page, row->name);

	fputs(".It Fl ", page->out);
	if (row->letter)
		fprintf(page->out, "%c , ", row->letter);
	fprintf(page->out, "-%s", row->name);
	if (row->argument)
		print_argument(page->out, row->argument);
	fputc('\n', page->out);
	if (text)
		text->is_used = true;
	if (text)
		fputs(text->lines, page->out);
	else
		fprintf(page->out, "%s\n", row->help);
	if (row->flags & OPTION_EXPERIMENTAL)
		fputs("This option is experimental: it may change, or go.\n", page->out);
}

static int print_options(struct page *page, const struct option_table *table)
{
	bool in_list = false;
	int result = read_texts(page);

	if (result)
		return result;
	for (const struct option_row *row = table->rows; row->name || row->help; row++) {
		if (row->name) {
			print_option(page, row);
			continue;
		}
		fprintf(page->out, "%s.Ss %s\n.Bl -tag -width Ds\n", in_list ? ".El\n" : "",
			row->help);
		in_list = true;
	}
	fputs(".El\n", page->out);
	for (size_t i = 0; i < page->nr_texts; i++)
		if (!page->texts[i].is_used)
			return refuse(page, page->texts[i].name, "no such option");
	return 0;
}

static int print_settings(struct page *page, const struct option_table *table)
{
	fputs(".Bl -tag -width Ds\n", page->out);
	for (const struct option_row *row = table->rows; row->name || row->help; row++) {
		if (!row->name || row->flags & OPTION_LINE_ONLY)
			continue;
		fprintf(page->out, ".It Cm %s", row->name);
		if (row->argument)
			print_argument(page->out, row->argument);
		fprintf(page->out, "\n%s\n", row->help);
	}
	fputs(".El\n", page->out);
	return 0;
}

static void print_verbs(struct page *page)
{
	fputs(".Bl -tag -width Ds\n", page->out);
	for (size_t i = 0; option_tables[i]; i++)
		fprintf(page->out, ".It Cm %s\n%s\nSee\n.Xr %s%s%s %d .\n", option_tables[i]->verb,
			option_tables[i]->summary, option_tables[i]->program,
			option_tables[i]->is_daemon ? "" : "-",
			option_tables[i]->is_daemon ? "" : option_tables[i]->verb,
			option_tables[i]->is_daemon ? 8 : 1);
	fputs(".El\n", page->out);
}

static void print_counters(struct page *page)
{
	fputs(".Bl -tag -width Ds\n", page->out);
	for (uint32_t reason = 0; reason < LEDGER_REASONS; reason++)
		if (reason != LEDGER_UNUSED)
			fprintf(page->out, ".It Li %s\n%s\n", ledger_reason_name(reason),
				ledger_reason_text(reason));
	fputs(".El\n", page->out);
}

static const struct option_table *find_table(const char *verb)
{
	for (size_t i = 0; option_tables[i]; i++)
		if (strcmp(option_tables[i]->verb, verb) == 0)
			return option_tables[i];
	return NULL;
}

static int replace(struct page *page, const char *line)
{
	char *verb = strchr(line, ' ');
	const struct option_table *table = verb ? find_table(verb + 1) : NULL;

	if (table && strncmp(line, "@options ", 9) == 0)
		return print_options(page, table);
	if (table && strncmp(line, "@settings ", 10) == 0)
		return print_settings(page, table);
	if (strcmp(line, "@verbs") == 0)
		print_verbs(page);
	else if (strcmp(line, "@counters") == 0)
		print_counters(page);
	else
		return refuse(page, line, "not understood");
	return 0;
}

int man_page_write(FILE *out, FILE *source, const char *source_name)
{
	struct page page = {.out = out, .source = source, .name = source_name};
	int result = 0;
	char *line;

	while (result == 0 && (line = read_line(&page)) != NULL) {
		if (*line == '@')
			result = replace(&page, line);
		else
			fprintf(out, "%s\n", line);
	}
	while (page.nr_texts)
		free(page.texts[--page.nr_texts].lines);
	free(page.buffer);
	return result ? result : fflush(out) || ferror(source) ? -EIO : 0;
}
