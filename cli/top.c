/* The verb `top`: shows what runs on the GPUs of a job. */
#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/base/newest_profile.h"
#include "cli/base/output_dir.h"
#include "cli/base/stop_pipe.h"
#include "cli/base/terminal.h"
#include "cli/base/verbs.h"
#include "cli/top/top_reader.h"
#include "cli/top/top_screen.h"
#include "cli/watch/watch_loop.h"
#include "options/option_line.h"
#include "report/names/clean_text.h"
#include "report/top/top_writer.h"

#define INTERVAL_NS   2000000000ull
#define INTERVAL_MOST 3600000000000ull
#define INTERVAL_LOW  100000000ull
#define NS_PER_MS     1000000ull
#define PIPE_COLUMNS  120u /* of a table that is printed on no terminal */

struct top {
	const char *profile_path;
	char found[PATH_MAX];
	char *name; /* owns; of the profile, clean */
	uint64_t interval_ns;
	bool once, json;
	struct terminal terminal;
	struct top_reader reader;
	struct top_view *view; /* owns */
	bool asks;             /* a stream was opened whose kernels were not read */
	bool chose_figures;    /* rates are shown once there are some */
};

static int stop_fd; /* readable once a signal ends the verb */

static void say_left_out(const char *path, const char *reason)
{
	log_notice("%s is newer, but left out: %s", path, reason);
}

/* The profile here that is being written, else the one that a report takes. OPTION_LINE_GO, or the exit status. */
static int find_profile(struct top *top)
{
	char age[NEWEST_PROFILE_AGE_SIZE];
	uint64_t age_s;

	if (newest_profile_live(".", top->found)) {
		log_notice("%s, which is being written", top->found);
	} else if (newest_profile_find(".", say_left_out, top->found, &age_s)) {
		log_notice("%s, of %s", top->found, newest_profile_age(age_s, age));
	} else {
		return option_line_refuse(&option_table_top,
					  "no profile given, and none is here: `flamegrid run -- "
					  "COMMAND` makes " OUTPUT_DEFAULT);
	}
	top->profile_path = top->found;
	return OPTION_LINE_GO;
}

/* OPTION_LINE_GO, or the exit status after a message. */
static int check_terminal(const struct top *top)
{
	const char *kind = getenv("TERM");

	if (top->once)
		return OPTION_LINE_GO;
	if (!top->terminal.is_terminal || !isatty(STDIN_FILENO))
		return option_line_refuse(&option_table_top,
					  "standard input and output are no terminal: flamegrid "
					  "top --once prints a table");
	if (!kind || !*kind || strcmp(kind, "dumb") == 0)
		return option_line_refuse(&option_table_top,
					  "the terminal cannot be drawn on (TERM is %s): flamegrid "
					  "top --once prints a table",
					  kind && *kind ? kind : "not set");
	return OPTION_LINE_GO;
}

static int parse(struct top *top, int argc, char **argv)
{
	const struct option_target targets[] = {
		{"interval", .time_ns = &top->interval_ns, .least = 1},
		{"once", .flag = &top->once},
		{"json", .flag = &top->json},
	};
	int status = option_line_parse(&option_table_top, targets,
				       sizeof(targets) / sizeof(*targets), argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	if (top->json && !top->once)
		return option_line_refuse(&option_table_top, "--json is of --once");
	if (top->interval_ns < INTERVAL_LOW || top->interval_ns > INTERVAL_MOST)
		return option_line_refuse(&option_table_top,
					  "--interval: must be from 100ms to 1h");
	status = check_terminal(top);
	top->profile_path = argv[optind];
	if (status == OPTION_LINE_GO && !top->profile_path)
		status = find_profile(top);
	return status;
}

/* ---- readings */

/* Waits for a signal, for a key if keys is true, and for the end of a reading. Returns whether a signal came. */
static bool wait_until(const struct top *top, uint64_t until_ns, bool keys)
{
	const struct top_reader *reader = &top->reader;
	struct pollfd ready[] = {
		{.fd = stop_fd, .events = POLLIN},
		{.fd = keys ? STDIN_FILENO : -1, .events = POLLIN},
		{.fd = reader->is_reading ? reader->done[0] : -1, .events = POLLIN}};
	const uint64_t now_ns = clock_now_ns();
	const uint64_t wait_ms = until_ns > now_ns ? (until_ns - now_ns) / NS_PER_MS + 1 : 0;
	const int most_ms = wait_ms < INT_MAX ? (int)wait_ms : -1;

	if (poll(ready, 3, most_ms) <= 0)
		return false;
	/* A terminal that is gone is readable for good. */
	return ready[0].revents || (ready[1].revents & (POLLHUP | POLLERR | POLLNVAL));
}

/* Returns whether the reading in the thread is over. */
static bool has_read(const struct top *top)
{
	struct pollfd done = {.fd = top->reader.done[0], .events = POLLIN};

	return top->reader.is_reading && poll(&done, 1, 0) > 0;
}

/* A large profile is read less often. */
static uint64_t pause_of(const struct top *top)
{
	uint64_t pause_ns = top->reader.now.cost_ns * WATCH_LOOP_COST;

	if (pause_ns > WATCH_LOOP_MAX_MS * NS_PER_MS)
		pause_ns = WATCH_LOOP_MAX_MS * NS_PER_MS;
	return pause_ns > top->interval_ns ? pause_ns : top->interval_ns;
}

/* The first sums are totals; rates follow. */
static void choose_figures(struct top *top)
{
	const struct top_reading *now = &top->reader.now;

	if (top->chose_figures || !now->sums)
		return;
	top->chose_figures = !now->is_written || now->sums->nodes[0].rate_ns > 0;
	top_view_show_totals(top->view, !now->is_written || !now->sums->nodes[0].rate_ns);
}

static int show(struct top *top)
{
	struct top_facts facts = top_reader_facts(&top->reader, top->name);

	choose_figures(top);
	return top_view_take(top->view, top->reader.now.sums, &facts);
}

/* ---- one table */

static int print(struct top *top)
{
	struct top_facts facts = top_reader_facts(&top->reader, top->name);
	int error = 0;

	if (top->json) {
		top_writer_json(stdout, top->reader.now.sums, &facts);
	} else {
		top_view_resize(top->view,
				top->terminal.is_terminal ? top->terminal.columns : PIPE_COLUMNS,
				24);
		error = show(top);
		if (!error)
			error = top_writer_text(stdout, top->view);
	}
	if (error)
		log_error("%s", strerror(-error));
	return error ? EXIT_FAILED : EXIT_OK;
}

/* A job that runs is read twice, so that there are rates. */
static int show_once(struct top *top)
{
	const struct top_keys none = {.count = 0}, *wanted = top->json ? NULL : &none;
	const struct top_reading *now = &top->reader.now;

	top_reader_read(&top->reader, wanted);
	if (!now->status && now->is_written) {
		if (wait_until(top, clock_now_ns() + top->interval_ns, false))
			return EXIT_OK;
		top_reader_read(&top->reader, wanted);
	}
	if (now->status || !now->sums) {
		log_error("%s", now->message ? now->message : strerror(ENOMEM));
		return EXIT_FAILED;
	}
	if (now->message)
		log_warning("%s", now->message);
	return print(top);
}

/* ---- on the terminal */

/* Takes all keys that are there. 1: the user wants to leave; 0 or -ENOMEM. */
static int take_keys(struct top *top, struct top_screen *screen)
{
	int key, status = 0;

	while (!status && (key = top_screen_key(screen)) >= 0)
		status = top_view_key(top->view, key);
	top->asks |= top_view_asks(top->view);
	return status;
}

static bool is_over(const struct top *top)
{
	return top->reader.now.has_ended && !top_reader_is_replaced(&top->reader);
}

/* Begins a reading if it is time, and takes one that is over. *next_ns: when it is time again. 0 or -errno. */
static int read_on(struct top *top, uint64_t *next_ns)
{
	struct top_reader *reader = &top->reader;
	int status = 0;

	if (has_read(top)) {
		top_reader_finish(reader);
		*next_ns = clock_now_ns() + pause_of(top);
		/* What was read before stays on the screen, with the message. */
		status = reader->now.sums ? 0 : reader->now.status;
		return status ? status : show(top);
	}
	if (reader->is_reading || (clock_now_ns() < *next_ns && !top->asks))
		return 0;
	*next_ns = clock_now_ns() + top->interval_ns;
	if (is_over(top) && !top->asks)
		return 0;
	top->asks = false;
	return top_reader_start(reader, top_view_open(top->view));
}

/* Returns as take_keys(). */
static int follow(struct top *top, struct top_screen *screen)
{
	uint64_t next_ns = 0;
	int status = show(top);

	while (!status) {
		status = read_on(top, &next_ns);
		if (status)
			break;
		top_screen_draw(screen, top->view);
		if (wait_until(top, top->reader.is_reading ? UINT64_MAX : next_ns, true))
			return 1;
		status = take_keys(top, screen);
	}
	return status;
}

static int show_screen(struct top *top)
{
	struct top_screen *screen;
	char *error = NULL;
	int status = top_screen_open(&screen, top->terminal.has_colours, &error);

	if (status) {
		log_error("%s%s", error ? error : strerror(-status),
			  status == -ENOPKG ? "; flamegrid top --once prints a table" : "");
		free(error);
		return EXIT_FAILED;
	}
	status = follow(top, screen);
	top_screen_close(screen);
	if (status < 0)
		log_error("%s",
			  top->reader.now.message ? top->reader.now.message : strerror(-status));
	return status < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- */

static int show_profile(struct top *top)
{
	char store[PATH_MAX];
	struct stat info;
	const char *store_path = output_dir_store(top->profile_path, store);

	if (stat(store_path, &info) < 0) {
		log_error("%s: %s", store_path, strerror(errno));
		return EXIT_FAILED;
	}
	top->reader.follow.profile_path = top->profile_path;
	top->name = clean_text_of(top->profile_path, strlen(top->profile_path));
	top->view = top_view_create(strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
	int error = top->name && top->view ? stop_pipe_open(&stop_fd) : -ENOMEM;
	if (error) {
		log_error("%s", strerror(-error));
		return EXIT_FAILED;
	}
	return top->once ? show_once(top) : show_screen(top);
}

int verb_top(const char *program, int argc, char **argv)
{
	struct top top = {.interval_ns = INTERVAL_NS};

	(void)program;
	setlocale(LC_CTYPE, "");
	terminal_read(&top.terminal, STDOUT_FILENO);
	int status = parse(&top, argc, argv);

	if (status == OPTION_LINE_GO)
		status = show_profile(&top);
	top_view_destroy(top.view);
	top_reader_fini(&top.reader);
	free(top.name);
	return status;
}
